// The incident pages: replaying a hand with buttons, slider and arrow keys; walking the queue with the keyboard.
// What was chosen comes back after a log-in in between.
// All else here has a plain link or button that does the same without scripts.
(function () {
  "use strict";

  /** Whether the key belongs to what is focused (typing, sliding, choosing) and not to the page. */
  function busy(event) {
    if (event.altKey || event.ctrlKey || event.metaKey || event.defaultPrevented || event.isComposing) return true;
    return Boolean(event.target.closest("input, textarea, select, [contenteditable], dialog[open]"));
  }

  // ---- replay

  const slider = document.getElementById("replay-slider");
  const replay = document.getElementById("replay");

  if (slider && replay) {
    const address = slider.form.dataset.replay;
    const last = Number(slider.max);
    let wanted = Number(slider.value); // ahead of what is shown while an answer is on its way
    let timer = 0;

    function load() {
      clearTimeout(timer);
      timer = setTimeout(function () {
        // A newer step replaces one that is still under way.
        window.htmx.trigger(replay, "htmx:abort");
        window.htmx
          .ajax("GET", `${address}?step=${wanted}`, { source: replay, target: replay, swap: "innerHTML" })
          .catch(function () {}); // one that was replaced; page.js tells of one that failed
      }, 40);
    }

    function go(step) {
      const next = Math.min(Math.max(step, 1), last);
      if (next === wanted) return;
      wanted = next;
      slider.value = String(next);
      load();
    }

    slider.addEventListener("input", () => go(Number(slider.value)));
    slider.form.addEventListener("submit", (event) => event.preventDefault());

    replay.addEventListener("click", function (event) {
      const link = event.target.closest("#replay-back, #replay-on, #replay-end");
      if (!link || event.ctrlKey || event.metaKey || event.shiftKey) return;
      event.preventDefault();
      go(link.id === "replay-end" ? last : wanted + (link.id === "replay-on" ? 1 : -1));
    });

    document.addEventListener("keydown", function (event) {
      if (busy(event) || event.shiftKey || event.target.closest(".list-wrap")) return; // that scrolls sideways
      if (event.key !== "ArrowLeft" && event.key !== "ArrowRight") return;
      event.preventDefault();
      go(wanted + (event.key === "ArrowRight" ? 1 : -1));
    });

    // What could not be loaded is not shown: the controls go back to the step that is.
    function settle() {
      wanted = Number(replay.querySelector("[data-step]").dataset.step);
      slider.value = String(wanted);
    }
    replay.addEventListener("htmx:sendError", settle);
    replay.addEventListener("htmx:responseError", settle);
    window.addEventListener("pageshow", settle); // a browser may keep the slider where it was
  }

  // ---- deciding: a session may end between choosing and sending

  const deciding = document.getElementById("decide");

  if (deciding) {
    const place = `decision ${deciding.getAttribute("action")}`;
    const { who, decisions } = deciding.dataset;

    /** A browser may refuse to keep anything; then nothing comes back. */
    function kept(use) {
      try {
        return use(window.sessionStorage);
      } catch {
        return null;
      }
    }

    function take() {
      const text = kept((storage) => storage.getItem(place));
      kept((storage) => storage.removeItem(place));
      return text ? JSON.parse(text) : null;
    }

    function refill({ actions, reason }) {
      for (const box of deciding.querySelectorAll("[name=actions]")) {
        box.checked = !box.disabled && actions.includes(box.value);
        const folded = box.closest("details.others");
        if (box.checked && folded) folded.open = true;
      }
      deciding.elements.reason.value = reason;
      const again = deciding.closest("details");
      if (again) again.open = true;
      const told = document.getElementById("decide-kept");
      told.hidden = false;
      told.focus();
      deciding.querySelector("[name=actions]").dispatchEvent(new Event("change", { bubbles: true }));
    }

    deciding.addEventListener("submit", function () {
      const chosen = new FormData(deciding);
      const sent = { who, decisions, actions: chosen.getAll("actions"), reason: chosen.get("reason") };
      kept((storage) => storage.setItem(place, JSON.stringify(sent)));
    });

    // After htmx has looked at the page, which then says what the choice would do. A page that answers to what was
    // sent holds it already, and one with a decision more has decided it.
    document.addEventListener("DOMContentLoaded", function () {
      const sent = take();
      const waits = sent && sent.who === who && sent.decisions === decisions;
      if (waits && !("answered" in deciding.dataset)) refill(sent);
    });
  }

  // ---- queue

  const list = document.querySelector(".incident-list");
  const search = document.querySelector("[role=search] input[type=search]");

  function walk(by) {
    const links = [...list.querySelectorAll("tbody th a")];
    const here = links.indexOf(document.activeElement);
    const next = here < 0 ? (by > 0 ? 0 : links.length - 1) : Math.min(Math.max(here + by, 0), links.length - 1);
    links[next].focus();
  }

  if (search) {
    document.addEventListener("keydown", function (event) {
      if (event.key === "Escape" && event.target === search) search.blur();
      if (busy(event)) return;
      // By the key's place too: with a Thai keyboard "j" types another letter.
      const typed = event.key.toLowerCase();
      const onRow = list && list.contains(document.activeElement);
      if (typed === "/" || event.code === "Slash") {
        event.preventDefault();
        search.focus();
        search.select();
      } else if (list && (typed === "j" || event.code === "KeyJ" || (onRow && typed === "arrowdown"))) {
        event.preventDefault();
        walk(1);
      } else if (list && (typed === "k" || event.code === "KeyK" || (onRow && typed === "arrowup"))) {
        event.preventDefault();
        walk(-1);
      }
    });
  }
})();
