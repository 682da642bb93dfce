// The table console: keeps what is typed while an answer is on its way, the keyboard, and the sheet.
// Everything on the page works without this file; with it, no card waits for the one before.
(function () {
  "use strict";

  let touch = window.matchMedia("(pointer: coarse)").matches; // how the page was used last
  let sent = null; // the entry line is on its way: what it said
  let draft = null; // what was entered meanwhile: { rank, text, press }

  const console_ = () => document.getElementById("console");
  const entry = () => document.getElementById("entry");
  const field = () => document.getElementById("entry-card");

  function entered() {
    const rank = entry() && entry().querySelector("[name=card_rank]:checked");
    return { rank: rank ? rank.value : "", text: field() ? field().value : "" };
  }

  function enter(what) {
    if (field()) field().value = what.text;
    if (entry()) entry().querySelectorAll("[name=card_rank]").forEach((key) => { key.checked = key.value === what.rank; });
  }

  function openSheet() {
    const sheet = document.querySelector("dialog[data-modal]");
    if (!sheet || sheet.dataset.shown || !sheet.showModal) return;
    sheet.dataset.shown = "1";
    sheet.removeAttribute("open");
    sheet.showModal();
    const first = sheet.querySelector("[aria-invalid]") || (!touch && sheet.querySelector("input:not([type=hidden]):checked, .sheet-body a, .sheet-body input:not([type=hidden])"));
    if (first) first.focus();
  }

  function focusNext() {
    if (document.querySelector("dialog[data-modal]")) return;
    const active = document.activeElement;
    if (active && active !== document.body && document.contains(active)) return;
    // A field opens the keyboard of a phone: there the keys are on the page.
    const next = document.querySelector("#console [data-focus]");
    if (next && (!touch || next.tagName !== "INPUT")) next.focus({ preventScroll: true });
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
    if (!sent || !event.target.matches("[data-entry]")) return;
    event.preventDefault();
    event.stopImmediatePropagation();
    const by = event.submitter;
    draft = { ...entered(), press: by && by.name ? { name: by.name, value: by.value } : {} };
  }, true);

  document.addEventListener("htmx:beforeRequest", function (event) {
    if (!event.target.matches("[data-entry]")) return;
    sent = entered();
    draft = null;
    enter({ rank: "", text: "" });
  });

  document.addEventListener("htmx:beforeSwap", function (event) {
    const status = event.detail.xhr.status;
    // A refusal comes as the console with the message in it: show it like any other answer.
    if ([409, 422].includes(status) || (status === 403 && event.detail.serverResponse.includes('id="console"'))) {
      event.detail.shouldSwap = true;
      event.detail.isError = false;
    }
    const now = sent && entered();
    if (now && !draft && (now.rank || now.text)) draft = now;
  });

  document.addEventListener("htmx:afterRequest", function (event) {
    // No answer came, or none to show: what was entered stands again.
    if (sent && event.detail.requestConfig && document.contains(event.detail.requestConfig.elt)) {
      if (event.detail.requestConfig.elt === entry()) enter(sent);
      sent = draft = null;
    }
  });

  function goOn() {
    const kept = sent && draft;
    const form = entry();
    sent = draft = null;
    if (!kept || !form || console_().dataset.status !== "200") return;
    enter(kept);
    if (!kept.press) return;
    const button = kept.press.name && form.querySelector(`button[name="${kept.press.name}"][value="${kept.press.value}"]`);
    form.requestSubmit(button || undefined);
  }

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

  document.addEventListener("pointerdown", (event) => { touch = event.pointerType === "touch"; }, true);
  document.addEventListener("keydown", () => { touch = false; }, true);

  document.addEventListener("DOMContentLoaded", ready);
  document.addEventListener("htmx:afterSettle", function () {
    ready();
    goOn();
  });
})();
