// Who deals now: opens the list, finds a dealer in it by code or name. Without this file the list is a page of its own.
(function () {
  "use strict";

  function open() {
    const sheet = document.querySelector("dialog[data-dealer-sheet]");
    if (!sheet || sheet.open || !sheet.showModal) return;
    sheet.showModal();
    const search = sheet.querySelector("[data-dealer-search]");
    search.hidden = false;
    // A field opens the keyboard of a phone, over the list that is to be tapped.
    if (!window.matchMedia("(pointer: coarse)").matches) search.querySelector("input").focus();
    sheet.addEventListener("close", function () {
      const change = document.getElementById("dealer-change");
      sheet.remove();
      if (change) change.focus({ preventScroll: true });
    });
  }

  document.addEventListener("htmx:afterSwap", function (event) {
    if (!event.target.closest("#dealer-now") && !document.querySelector("dialog[data-dealer-sheet]:not([open])")) return;
    open();
    const change = document.getElementById("dealer-change");
    if (change && document.activeElement === document.body) change.focus({ preventScroll: true });
  });

  document.addEventListener("input", function (event) {
    if (!event.target.closest("[data-dealer-search]")) return;
    const list = document.getElementById("dealer-list");
    const words = event.target.value.toLowerCase().split(/\s+/).filter(Boolean);
    let found = 0;
    for (const row of list.querySelectorAll("[data-words]")) {
      const text = row.dataset.words.toLowerCase();
      row.hidden = !words.every((word) => text.includes(word));
      found += row.hidden ? 0 : 1;
    }
    document.querySelector("[data-dealer-none]").hidden = found > 0;
  });

  // Enter in the search takes the dealer who alone is left, and never the first button of the form.
  document.addEventListener("keydown", function (event) {
    if (event.key !== "Enter" || !event.target.closest("[data-dealer-search]")) return;
    event.preventDefault();
    const left = document.querySelectorAll("#dealer-list [data-words]:not([hidden]) button:enabled");
    if (left.length === 1) left[0].click();
  });
})();
