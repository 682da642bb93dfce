// The table console: keeps what is typed while an answer is on its way, the keyboard, and the sheet.
// Everything on the page works without this file; with it, no card waits for the one before.
(function () {
  "use strict";

  const fine = window.matchMedia("(pointer: fine)").matches;
  let sending = false; // the entry line is on its way
  let draft = null; // what was entered meanwhile: { rank, text, press }

  const console_ = () => document.getElementById("console");
  const entry = () => document.getElementById("entry");
  const field = () => document.getElementById("entry-card");

  function openSheet() {
    const sheet = document.querySelector("dialog[data-modal]");
    if (!sheet || sheet.dataset.shown || !sheet.showModal) return;
    sheet.dataset.shown = "1";
    sheet.removeAttribute("open");
    sheet.showModal();
    const first = sheet.querySelector("[aria-invalid]") || (fine && sheet.querySelector("input:not([type=hidden]):checked, .sheet-body a, .sheet-body input:not([type=hidden])"));
    if (first) first.focus();
  }

  function focusNext() {
    if (document.querySelector("dialog[data-modal]")) return;
    const active = document.activeElement;
    if (active && active !== document.body && document.contains(active)) return;
    // A field opens the keyboard of a phone: there the keys are on the page.
    const next = document.querySelector("#console [data-focus]");
    if (next && (fine || next.tagName !== "INPUT")) next.focus({ preventScroll: true });
  }

  function say() {
    const words = document.querySelector("#console [role=alert], #console [data-say]");
    const said = document.getElementById("said");
    if (words && said) said.textContent = words.textContent.trim();
  }

  function ready() {
    openSheet();
    focusNext();
    say();
  }

  // ---- one card after the other: nothing typed or tapped while the answer is on its way gets lost ----

  document.addEventListener("submit", function (event) {
    if (!sending || !event.target.matches("[data-entry]")) return;
    event.preventDefault();
    event.stopImmediatePropagation();
    const rank = event.target.querySelector("[name=card_rank]:checked");
    const by = event.submitter;
    draft = { rank: rank && rank.value, text: field().value, press: by && by.name ? { name: by.name, value: by.value } : {} };
  }, true);

  document.addEventListener("htmx:beforeRequest", function (event) {
    if (!event.target.matches("[data-entry]")) return;
    sending = true;
    draft = null;
    event.target.querySelectorAll("[name=card_rank]:checked").forEach((key) => { key.checked = false; });
    if (field()) field().value = "";
  });

  document.addEventListener("htmx:beforeSwap", function (event) {
    const status = event.detail.xhr.status;
    // A refusal comes as the console with the message in it: show it like any other answer.
    if ([409, 422].includes(status) || (status === 403 && event.detail.serverResponse.includes('id="console"'))) {
      event.detail.shouldSwap = true;
      event.detail.isError = false;
    }
    if (!sending || !entry()) return;
    const rank = entry().querySelector("[name=card_rank]:checked");
    const text = field() ? field().value : "";
    if (!draft && (rank || text)) draft = { rank: rank && rank.value, text: text, press: null };
  });

  document.addEventListener("htmx:afterRequest", function (event) {
    if (!sending || !event.detail.elt.matches("[data-entry]")) return;
    sending = false;
    const form = entry();
    const kept = draft;
    draft = null;
    if (!kept || !form || console_().dataset.status !== "200") return;
    if (field()) field().value = kept.text;
    const rank = kept.rank && form.querySelector(`[name=card_rank][value="${kept.rank}"]`);
    if (rank) rank.checked = true;
    if (!kept.press) return;
    const button = kept.press.name && form.querySelector(`button[name="${kept.press.name}"][value="${kept.press.value}"]`);
    form.requestSubmit(button || undefined);
  });

  // ---- sheets ----

  document.addEventListener("cancel", function (event) {
    const sheet = event.target.closest && event.target.closest("dialog[data-modal]");
    if (!sheet) return;
    event.preventDefault();
    sheet.querySelector("[data-close]").click();
  }, true);

  document.addEventListener("click", function (event) {
    const sheet = event.target.closest("dialog[data-modal]");
    if (sheet && event.target === sheet) {
      event.stopImmediatePropagation();
      sheet.querySelector("[data-close]").click();
      return;
    }
    const step = event.target.closest("[data-step]");
    if (step) {
      const input = step.parentElement.querySelector("input");
      input.value = Math.max(0, (parseInt(input.value, 10) || 0) + Number(step.dataset.step));
    }
    const fills = event.target.closest("[data-fills]");
    if (fills) document.getElementById(fills.dataset.fills).value = fills.textContent.trim();
  }, true);

  // The keys of a card in a sheet and the field beside them say the same.
  document.addEventListener("change", function (event) {
    const pad = event.target.closest("[data-pad]");
    if (!pad) return;
    const rank = pad.querySelector("[name$=_rank]:checked");
    const suit = pad.querySelector("[name$=_suit]:checked");
    document.getElementById(pad.dataset.pad).value = (rank ? rank.value : "") + (suit ? suit.value : "");
  });
  document.addEventListener("input", function (event) {
    const pad = event.target.id && document.querySelector(`[data-pad="${event.target.id}"]`);
    if (pad) pad.querySelectorAll(":checked").forEach((key) => { key.checked = false; });
  });

  // ---- keyboard: a letter or digit anywhere on the page begins the next card ----

  document.addEventListener("keydown", function (event) {
    if (event.ctrlKey || event.metaKey || event.altKey || document.querySelector("dialog[data-modal]")) return;
    if (event.target.closest("input:not([type=radio]), textarea, select")) return;
    const input = field();
    if (!input || input.offsetParent === null || !/^[0-9a-z/]$/i.test(event.key)) return;
    if (event.key === "/") event.preventDefault();
    input.focus();
  });

  document.addEventListener("DOMContentLoaded", ready);
  document.addEventListener("htmx:afterSettle", ready);
})();
