// The countdown of an insurance time: runs by the server's clock from when the time was opened, and closes nothing.
(function () {
  "use strict";

  let shown = null; // the open time that is counted: { element, ends, opened }
  let told = ""; // what was announced of it
  let timer = 0;

  function say(key, text) {
    const said = document.getElementById("said");
    if (!said || told === key) return;
    told = key;
    setTimeout(() => { said.textContent = text; }, 50); // after what the page says of the answer itself
  }

  function tick() {
    clearTimeout(timer);
    if (!shown || !document.contains(shown.element)) return;
    const left = Math.max(0, shown.ends - performance.now());
    const seconds = Math.ceil(left / 1000);
    const { element, opened } = shown;
    element.querySelector("[data-left]").textContent = String(seconds);
    element.classList.toggle("insurance-soon", seconds <= 5 && seconds > 0);
    element.classList.toggle("insurance-over", seconds === 0);
    if (seconds === 0) say(`${opened} over`, element.dataset.over);
    else if (seconds <= 5) say(`${opened} soon`, element.dataset.soon);
    if (seconds > 0) timer = setTimeout(tick, left - (seconds - 1) * 1000 + 20);
  }

  function ready() {
    const element = document.querySelector("#console [data-insurance]");
    if (!element) { shown = null; return; }
    if (shown && shown.element === element) return;
    const { opened, now, seconds } = element.dataset;
    const left = Number(seconds) * 1000 - (Date.parse(now) - Date.parse(opened));
    shown = { element, opened, ends: performance.now() + left };
    tick();
  }

  document.addEventListener("DOMContentLoaded", ready);
  document.addEventListener("console:shown", ready);
  document.addEventListener("htmx:afterSettle", ready);
  // A page that slept in the background counts by the clock, not by its ticks.
  document.addEventListener("visibilitychange", tick);
})();
