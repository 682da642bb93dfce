// Shows what other devices record at this table, within a second, and the roads beside the console.
(function () {
  "use strict";

  const roads = document.getElementById("console-roads");
  if (!roads) return;

  const every = 700; // milliseconds
  const waits = [1000, 2000, 5000]; // when the server does not answer
  let timer = 0;
  let failed = 0;

  const console_ = () => document.getElementById("console");
  const options = () => ({ headers: { "HX-Request": "true" }, credentials: "same-origin", redirect: "manual", signal: AbortSignal.timeout ? AbortSignal.timeout(10000) : undefined });

  function again() {
    clearTimeout(timer);
    if (document.visibilityState !== "visible") return;
    timer = setTimeout(look, failed ? waits[Math.min(failed, waits.length) - 1] : every);
  }

  async function look() {
    // While an entry is on its way its own answer brings everything; a question that stands open is not taken away.
    if ((window.deviceQueue && window.deviceQueue.pending().length) || console_().querySelector(".ask")) return again();
    const seq = console_().dataset.seq;
    try {
      const response = await fetch(`${roads.dataset.head}?seq=${seq}`, options());
      if (![200, 204].includes(response.status)) throw response;
      failed = 0;
      const html = response.status === 200 ? await response.text() : "";
      await window.tableConsole.released();
      const waiting = window.deviceQueue && window.deviceQueue.pending().length;
      if (html && !waiting && console_().dataset.seq === seq) window.tableConsole.show(html, true);
    } catch {
      failed += 1;
    }
    again();
  }

  async function refresh() {
    const version = console_().dataset.roads;
    if (!version || version === roads.dataset.roads) return; // empty: as before
    try {
      const response = await fetch(roads.dataset.address, options());
      if (response.status !== 200) return;
      roads.innerHTML = await response.text();
      roads.dataset.roads = version;
    } catch { /* with the next answer */ }
  }

  document.addEventListener("console:shown", function () {
    refresh();
    again();
  });
  // Another page of this device has sent what was shown here as on its way.
  document.addEventListener("queue:changed", (event) => { if (event.detail.elsewhere) look(); });
  document.addEventListener("visibilitychange", () => { if (document.visibilityState === "visible") look(); });
  window.addEventListener("online", look);
  again();
})();
