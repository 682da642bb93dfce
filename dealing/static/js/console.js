// The table console: shows the server's answers without losing what is being entered, the keyboard, and the sheet.
// Everything on the page works without this file.
(function () {
  "use strict";

  let touch = window.matchMedia("(pointer: coarse)").matches; // how the page was used last
  let pressed = null; // what the last press was on, and where

  const console_ = () => document.getElementById("console");
  const entry = () => document.getElementById("entry");
  const field = () => document.getElementById("entry-card");
  const sheetOf = (node) => node.querySelector("dialog[data-modal]");
  const seen = (node) => node.offsetParent !== null;

  // ---- an answer is shown ----

  // `keep`: the answer was not asked for here, so an open sheet stays, with all that is filled into it.
  function show(html, keep) {
    const next = new DOMParser().parseFromString(html, "text/html").getElementById("console");
    const now = console_();
    if (!next || !now) return false;
    const sheet = keep && !sheetOf(next) ? sheetOf(now) : null;
    const kept = enteredIn(now, sheet);
    const warned = keep ? warnings(now, sheet, kept) : [];
    const dock = now.querySelector(".console-dock");
    const scrolled = dock ? dock.scrollTop : 0;
    for (const name of now.getAttributeNames()) if (name.startsWith("data-") && !next.hasAttribute(name)) now.removeAttribute(name);
    for (const name of next.getAttributeNames()) now.setAttribute(name, next.getAttribute(name));
    for (const child of [...now.children]) if (child !== sheet) child.remove();
    now.prepend(...next.children);
    if (window.htmx) window.htmx.process(now);
    restore(now, kept);
    warnAgain(now, warned);
    if (now.dataset.status !== "200") touchKept(now);
    if (scrolled && now.querySelector(".console-dock")) now.querySelector(".console-dock").scrollTop = scrolled;
    document.dispatchEvent(new CustomEvent("console:shown"));
    if (!keep && now.dataset.status !== "200") now.querySelector("[role=alert]")?.scrollIntoView({ block: "nearest" });
    ready();
    return true;
  }

  // What a person has changed since the page came, where the focus is and which lines are unfolded.
  function enteredIn(now, sheet) {
    const inputs = [...now.querySelectorAll("[data-touched]")].filter((input) => !sheet || !sheet.contains(input));
    const active = document.activeElement;
    const inside = now.contains(active) && !(sheet && sheet.contains(active));
    return {
      values: inputs.map((input) => ({ path: pathOf(input), value: input.value, checked: input.checked })),
      focus: inside && pathOf(active),
      at: inside && active.matches("input:not([type=radio], [type=checkbox]), textarea") ? [active.selectionStart, active.selectionEnd] : null,
      open: [...now.querySelectorAll("details[id][open]")].map((node) => node.id),
    };
  }

  // What was said of what still stands in a form: it goes when that goes, and not with the next answer.
  function warnings(now, sheet, kept) {
    const stands = sheet || kept.values.some(({ path, value, checked }) => path.id === "entry-card" ? value : path.name === "card_rank" ? checked : false);
    const told = [...now.querySelectorAll(".console-said[role=alert], #entry .field-error")];
    return stands ? told.filter((node) => now.dataset.status !== "200" || node.hasAttribute("data-kept")) : [];
  }

  function warnAgain(now, warned) {
    for (const node of warned) {
      const line = now.querySelector("#entry .entry-line");
      const wrong = node.matches(".field-error");
      if (wrong ? !line || now.querySelector("#entry .field-error") : now.querySelector(".console-said[role=alert]")) continue;
      node.setAttribute("data-kept", "");
      (wrong ? line : now.querySelector(".console-head")).after(node);
      if (!wrong || node.id !== "entry-error") continue;
      line.classList.add("field-wrong");
      field().setAttribute("aria-invalid", "true");
    }
  }

  // What a refusal left standing in its form was typed by a person too.
  function touchKept(now) {
    const wrong = [...now.querySelectorAll("[data-records]")].filter((form) => form.id === "entry" || form.querySelector("[aria-invalid], .field-error"));
    for (const input of wrong.flatMap((form) => [...form.querySelectorAll("input, textarea")])) {
      if (input.type === "hidden" || input.name === "to") continue;
      if (input.type === "radio" || input.type === "checkbox" ? input.checked : input.value) input.dataset.touched = "";
    }
  }

  // How a control is found again in the next answer: by its id, else by its form's event, its name and its value.
  function pathOf(node) {
    const event = node.form && node.form.querySelector("[name=event]");
    if (node.id || !event || !node.name) return { id: node.id };
    return { event: event.value, name: node.name, value: node.matches("[type=radio], button") ? node.value : null };
  }

  function find(now, path) {
    if (!path) return null;
    if (!path.event) return path.id ? now.querySelector(`#${CSS.escape(path.id)}`) : null;
    const value = path.value === null ? "" : `[value="${CSS.escape(path.value)}"]`;
    const forms = [...now.querySelectorAll(`[name=event][value="${CSS.escape(path.event)}"]`)].map((input) => input.form);
    return forms.map((form) => form.querySelector(`[name="${CSS.escape(path.name)}"]${value}`)).find(Boolean) || null;
  }

  function restore(now, kept) {
    for (const { path, value, checked } of kept.values) {
      const input = find(now, path);
      if (!input) continue;
      if (input.type === "radio" || input.type === "checkbox") input.checked = checked;
      else input.value = value;
      input.dataset.touched = "";
    }
    for (const id of kept.open) {
      const details = document.getElementById(id);
      if (details) details.open = true;
    }
    const focus = find(now, kept.focus);
    if (!focus || !seen(focus)) return;
    focus.focus({ preventScroll: true });
    if (kept.at && focus.setSelectionRange) focus.setSelectionRange(...kept.at);
  }

  function untouch(form) {
    form.querySelectorAll("[data-touched]").forEach((input) => { delete input.dataset.touched; });
  }

  document.addEventListener("input", (event) => { if (event.target.closest("#console [data-records]")) event.target.dataset.touched = ""; });
  document.addEventListener("change", (event) => { if (event.target.closest("#console [data-records]")) event.target.dataset.touched = ""; });

  // ---- room for the cards ----

  // On a phone the dock lies over the table. Where it would cover the felt, the felt is made low; where that is not
  // enough, the dock too, whose middle scrolls (money.css says how low it may get). What is left over is free above the
  // dock: its keys stay where they are while the felt changes.
  const narrow = window.matchMedia("(max-width: 61.99rem)");
  const phone = window.matchMedia("(max-width: 39.99rem)");

  function makeRoom() {
    const page = console_();
    const felt = page.querySelector(".console-table .felt");
    const dock = page.querySelector(".console-dock:not(.notice)");
    page.removeAttribute("data-tight");
    page.style.removeProperty("--dock-gap");
    if (!felt || !dock || !narrow.matches || page.dataset.phase === "betting") return; // then nothing lies on it
    const low = () => felt.getBoundingClientRect().bottom + window.scrollY;
    const whole = [...dock.children].reduce((height, part) => height + part.scrollHeight - part.clientHeight, dock.offsetHeight);
    const tight = low() > window.innerHeight - whole;
    page.toggleAttribute("data-tight", tight);
    const room = Math.ceil(low());
    page.style.setProperty("--felt-room", `${room}px`);
    const left = window.innerHeight - whole - room - parseFloat(getComputedStyle(page).rowGap);
    if (left > 0 && (tight || phone.matches)) page.style.setProperty("--dock-gap", `${left}px`);
  }
  window.addEventListener("resize", makeRoom);
  document.addEventListener("queue:room", makeRoom);
  document.addEventListener("toggle", (event) => { if (event.target.closest("#console")) makeRoom(); }, true);

  // ---- what comes next ----

  function openSheet() {
    const sheet = document.querySelector("#console dialog[data-modal]");
    if (!sheet || sheet.dataset.shown || !sheet.showModal) return;
    sheet.dataset.shown = "1";
    sheet.removeAttribute("open");
    sheet.showModal();
    const first = sheet.querySelector("[aria-invalid]") || (!touch && sheet.querySelector("input:not([type=hidden]):checked, .sheet-body a, .sheet-body input:not([type=hidden])"));
    if (first) first.focus();
  }

  function focusNext() {
    if (document.querySelector("dialog[open]")) return;
    const active = document.activeElement;
    if (active && active !== document.body && document.contains(active) && (seen(active) || !console_().contains(active))) return;
    // A field opens the keyboard of a phone: there the keys are on the page.
    const next = [...document.querySelectorAll("#console [data-focus]")].find(seen);
    if (next && (!touch || next.tagName !== "INPUT")) next.focus({ preventScroll: true });
  }

  function say() {
    const words = document.querySelector("#console [role=alert]") || [...document.querySelectorAll("#console [data-say]")].find(seen);
    const said = document.getElementById("said");
    if (words && said && said.textContent !== words.textContent.trim()) said.textContent = words.textContent.trim();
  }

  function ready() {
    makeRoom();
    openSheet();
    focusNext();
    say();
  }

  window.tableConsole = { show, ready, released: () => released() };

  // ---- entries: the queue sends them, this page shows what came of it ----

  // The second press of a double one is meant for what the first was on, and not for what has come into its place.
  // Nor is it meant where what records is still there: a key that is a whole card would record two of them.
  // Told by time and place: some browsers count every tap as a first one, and quick taps on neighbouring keys are meant.
  // A press by key (detail 0) is on what has the focus, which is said and seen.
  document.addEventListener("click", function (event) {
    const button = event.target.closest("#console :is(button, a, label, summary)");
    const name = button && `${button.id}|${button.name}|${button.value}|${button.textContent}`;
    const near = pressed && Math.hypot(event.clientX - pressed.x, event.clientY - pressed.y) < 24; // px: less than from key to key
    const soon = pressed && event.timeStamp - pressed.at < 350; // ms: nobody has read the new words by then
    const again = button && (pressed?.name !== name || button.matches("[data-records] button:not([type=button])"));
    if (again && event.detail && near && soon) {
      event.preventDefault();
      event.stopImmediatePropagation();
      pressed.at = event.timeStamp;
      return;
    }
    if (event.detail) pressed = { name, x: event.clientX, y: event.clientY, at: event.timeStamp };
  }, true);

  // Nor does a key that is held down press what comes next.
  document.addEventListener("keydown", function (event) {
    if (event.repeat && (event.key === "Enter" || event.key === " ") && event.target.closest("#console")) event.preventDefault();
  }, true);

  document.addEventListener("queue:added", function (event) {
    const { form } = event.detail;
    untouch(form);
    if (!form.matches("[data-entry]")) return;
    form.reset();
    if (field()) { field().value = ""; field().removeAttribute("aria-invalid"); }
    form.querySelectorAll("[name=card_rank]").forEach((key) => { key.checked = false; });
    form.querySelectorAll(".field-error").forEach((error) => error.remove());
    form.querySelectorAll(".field-wrong").forEach((wrong) => wrong.classList.remove("field-wrong"));
    form.querySelector("[name=key]").value = window.deviceQueue.fresh();
  });

  document.addEventListener("queue:answer", function (event) {
    const { html, entry: sent } = event.detail;
    const sheet = sheetOf(console_());
    // The sheet that was sent is done; one opened since stays.
    const other = sheet && !sheet.querySelector(`[name=key][value="${CSS.escape(plain(sent.fields.key))}"]`);
    show(html, Boolean(other));
  });

  document.addEventListener("queue:refused", function (event) {
    const { html, entry: sent } = event.detail;
    const sheet = sheetOf(console_());
    const busy = sheet ? !sheet.querySelector(`[name=key][value="${CSS.escape(plain(sent.fields.key))}"]`) : console_().querySelector("[data-touched]");
    if (!busy && show(html, false)) event.preventDefault();
  });

  // The form itself knows its key without the device's name, until it was given a new one.
  function plain(key) {
    const bare = key.slice(window.deviceQueue.device.length + 1);
    return document.querySelector(`#console [name=key][value="${CSS.escape(key)}"]`) ? key : bare;
  }

  document.addEventListener("queue:changed", function (event) {
    // What could not be sent at once stands in the strip: its sheet is not to be sent a second time.
    const { failed } = event.detail;
    const sheet = failed && sheetOf(console_());
    if (sheet && sheet.querySelector(`[name=key][value="${CSS.escape(plain(failed.fields.key))}"]`)) sheet.remove();
  });

  document.addEventListener("queue:change", function (event) {
    const { address } = event.detail;
    fetch(address, { headers: { "HX-Request": "true" }, credentials: "same-origin" })
      .then((response) => (response.ok ? response.text() : Promise.reject(response)))
      .then((html) => show(html, false))
      .catch(() => document.dispatchEvent(new CustomEvent("page:say", { detail: "offline" })));
  });

  // Sheets come from the server; what is shown of them goes the same way as every answer.
  document.addEventListener("htmx:beforeSwap", function (event) {
    if (event.detail.target !== console_() || !event.detail.xhr.responseText.includes('id="console"')) return;
    event.detail.shouldSwap = false;
    event.detail.isError = false;
    show(event.detail.xhr.responseText, false);
  });

  // ---- sheets ----

  document.addEventListener("cancel", function (event) {
    const sheet = event.target.closest && event.target.closest("dialog[data-modal]");
    if (!sheet) return;
    event.preventDefault();
    close(sheet);
  }, true);

  // Closing needs no server: what is under the sheet is there.
  function close(sheet) {
    sheet.remove();
    if (location.search) history.replaceState(null, "", location.pathname);
    document.dispatchEvent(new CustomEvent("console:shown", { detail: { same: true } }));
    focusNext();
  }

  document.addEventListener("click", function (event) {
    const sheet = event.target.closest("dialog[data-modal]");
    if (sheet && (event.target === sheet || event.target.closest("[data-close]"))) {
      event.preventDefault();
      event.stopImmediatePropagation();
      close(sheet);
      return;
    }
    const step = event.target.closest("[data-step]");
    if (step) {
      const input = step.parentElement.querySelector("input");
      input.value = Math.max(0, (parseInt(input.value, 10) || 0) + Number(step.dataset.step));
      input.dataset.touched = "";
    }
    const fills = event.target.closest("[data-fills]");
    if (fills) {
      document.getElementById(fills.dataset.fills).value = fills.textContent.trim();
      document.getElementById(fills.dataset.fills).dataset.touched = "";
    }
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
    if (event.target === field()) event.target.form.querySelectorAll("[name=card_rank]").forEach((key) => { key.checked = false; });
    const pad = event.target.id && document.querySelector(`[data-pad="${event.target.id}"]`);
    if (pad) pad.querySelectorAll(":checked").forEach((key) => { key.checked = false; });
  });

  // ---- keyboard: a letter or digit anywhere on the page begins the next card ----

  document.addEventListener("keydown", function (event) {
    if (event.ctrlKey || event.metaKey || event.altKey || document.querySelector("dialog[open]")) return;
    if (event.target.closest("input:not([type=radio]), textarea, select")) return;
    const input = field();
    if (!input || !seen(input) || !/^[0-9a-z/]$/i.test(event.key)) return;
    if (event.key === "/") event.preventDefault();
    input.focus();
  });

  // In the field itself that key has nothing to do, and no card has it in its name.
  document.addEventListener("beforeinput", function (event) {
    if (event.target === field() && event.data === "/") event.preventDefault();
  });

  document.addEventListener("pointerdown", (event) => { touch = event.pointerType === "touch"; }, true);
  document.addEventListener("keydown", () => { touch = false; }, true);

  // ---- nothing is replaced under a finger: where a press and its letting go meet two buttons, browsers count no click ----

  let held = null;
  let letGo = null;
  document.addEventListener("pointerdown", function () {
    if (!held) held = new Promise((done) => { letGo = done; });
  }, true);
  for (const name of ["pointerup", "pointercancel"]) {
    // The click itself comes a moment after.
    document.addEventListener(name, () => setTimeout(() => { if (letGo) letGo(); held = letGo = null; }, 30), true);
  }

  // Once nobody presses anything; a second at most.
  const released = () => held && Promise.race([held, new Promise((done) => setTimeout(done, 1000))]);

  document.addEventListener("DOMContentLoaded", ready);
})();
