// The device's queue: every entry is kept in this browser before anything else, and sent in order, one at a time.
// It leaves the queue when the server has confirmed it, when a person discards it, and in no other way.
(function () {
  "use strict";

  const box = document.getElementById("unsent");
  if (!box) return;

  const words = box.dataset;
  const mine = `unsent:${words.table}:`;
  let memory = {}; // where the browser keeps nothing
  const tab = secret(6); // this page: what another page or an earlier one entered is never shown as just entered
  const device = own();
  const waits = [500, 1000, 2000, 5000]; // milliseconds from one try to the next
  const shownAfter = 1500; // an answer that takes no longer is not worth a word
  const RIGHTS = ["amended", "moved", "discarded", "voided"]; // what puts right what the server holds already

  let running = false;
  let timer = 0;
  let state = { failed: 0, loggedOut: false };
  let asking = false; // "discard it?" stands open

  // ---- kept on the device: one item an entry, so that two pages do not write over each other ----

  function secret(length) {
    return Array.from(crypto.getRandomValues(new Uint8Array(length)), (byte) => (byte % 36).toString(36)).join("");
  }

  function own() {
    const kept = get("device") || secret(10);
    put("device", kept);
    return kept;
  }

  function get(name) {
    try { return localStorage.getItem(name) ?? memory[name] ?? null; } catch { return memory[name] ?? null; }
  }

  function put(name, text) {
    try { localStorage.setItem(name, text); } catch { memory[name] = text; }
  }

  function drop(name) {
    delete memory[name];
    try { localStorage.removeItem(name); } catch { /* it was in memory */ }
  }

  function names(start) {
    let found = Object.keys(memory);
    try { found = found.concat(Object.keys(localStorage)); } catch { /* nothing is kept there */ }
    return [...new Set(found)].filter((name) => name.startsWith(start)).sort();
  }

  function all() {
    return names(mine).flatMap(function (name) {
      try { return [{ ...JSON.parse(get(name)), name }]; } catch { return []; } // not written by this file
    });
  }

  // An entry is sent as the person who made it or not at all: what somebody else left here waits for them.
  function list() {
    return all().filter((entry) => entry.user === words.user);
  }

  function keep(entry) {
    const { name, ...rest } = entry;
    put(name, JSON.stringify(rest));
  }

  function changed(detail) {
    document.dispatchEvent(new CustomEvent("queue:changed", { detail: detail || {} }));
    show();
  }

  // ---- an entry is made ----

  document.addEventListener("submit", function (event) {
    const form = event.target;
    if (!form.matches("[data-records]") || event.defaultPrevented) return;
    event.preventDefault();
    event.stopImmediatePropagation();
    const by = event.submitter;
    const fields = Object.fromEntries(new FormData(form));
    if (by && by.name) fields[by.name] = by.value;
    delete fields.csrfmiddlewaretoken;
    if (!fields.key.startsWith(`${device}.`)) fields.key = `${device}.${fields.key}`;
    const said = { fields, words: "", form };
    document.dispatchEvent(new CustomEvent("queue:entering", { detail: said })); // a listener may put it into words
    const label = (by && by.dataset.words) || form.dataset.words || (by || form).textContent;
    add(fields, said.words || label.trim().replace(/\s+/g, " "), form, said.follows);
  }, true);

  // `follows`: the page went on to the next hand with it.
  function add(fields, text, form, follows) {
    const entries = all();
    const same = entries.find((entry) => entry.fields.key === fields.key);
    if (same && !same.refused) return; // the second press of a double one
    const now = Date.now();
    const last = entries.length ? Number(entries[entries.length - 1].name.slice(mine.length)) : 0;
    const name = same ? same.name : mine + String(Math.max(now, last + 1)).padStart(15, "0");
    const aside = same ? same.aside : passes(fields, form);
    const entry = { name, fields, words: text, at: same ? same.at : now, user: words.user, tab, tries: 0, aside, follows };
    keep(entry);
    if (same) caughtUp();
    setTimeout(show, shownAfter + 50);
    document.dispatchEvent(new CustomEvent("queue:added", { detail: { entry, form } }));
    changed();
    pump();
  }

  // ---- sent ----

  function sendable() {
    const entries = list();
    return entries.find((entry) => entry.aside && !entry.refused) || (stopped() ? null : entries[0]) || null;
  }

  // The entry that stands refused, and so stops those behind it, until a person has decided about it.
  function stopped() {
    const entries = list();
    return entries.find((entry) => entry.aside && entry.refused) || (entries[0] && entries[0].refused ? entries[0] : null);
  }

  // What does not wait behind a refused entry: it is about what the server holds, or about what comes before that entry.
  function passes(fields, form) {
    const stop = stopped();
    if (!stop) return false;
    if (RIGHTS.includes(fields.event) || form.closest("dialog")) return true;
    if (fields.shoe !== stop.fields.shoe) return false;
    const [hand, stops] = [Number(fields.hand), Number(stop.fields.hand)];
    return hand < stops || (hand === stops && fields.event === "betting_opened" && stop.fields.event !== "betting_opened");
  }

  // A person has looked at the table and decided: nothing that was recorded there by then is in the way of what waits.
  function caughtUp() {
    const seq = document.getElementById("console").dataset.seq;
    for (const entry of list()) {
      if (Number(entry.fields.seq) < Number(seq)) keep({ ...entry, fields: { ...entry.fields, seq } });
    }
  }

  // The page had gone on to the next hand with this press, and the table did not: what waits was made for another hand.
  function halted(entry, html) {
    const next = list()[0];
    if (!entry.follows || !next || next.refused || Number(next.fields.hand) <= Number(entry.fields.hand)) return;
    const now = new DOMParser().parseFromString(html, "text/html").getElementById("console");
    if (!now || now.dataset.hand !== entry.fields.hand || !["dealing", "complete", "called"].includes(now.dataset.phase)) return;
    keep({ ...next, refused: { reason: filled(words.halted, { entry: entry.words }), change: "", status: 0 } });
  }

  function alone(work) {
    return navigator.locks ? navigator.locks.request(mine, work) : work();
  }

  async function pump() {
    clearTimeout(timer);
    if (running || !sendable()) return;
    running = true;
    try {
      await alone(async () => { while (await step()) { /* the next one */ } });
    } finally {
      running = false;
    }
    if (sendable()) timer = setTimeout(pump, waits[Math.min(Math.max(state.failed - 1, 0), waits.length - 1)]);
    show();
  }

  async function step() {
    const entry = sendable();
    if (!entry) return false;
    let response, html;
    try {
      response = await post(entry);
      html = await response.text();
    } catch {
      return away(entry);
    }
    await window.tableConsole.released();
    const told = (name) => decodeURIComponent(response.headers.get(name) || "");
    if (response.ok && told("X-Recorded") === entry.fields.key) {
      state = { failed: 0, loggedOut: false };
      const before = list().filter((one) => one.name !== entry.name);
      drop(entry.name);
      halted(entry, html);
      const replaced = response.headers.get("HX-Replace-Url");
      if (replaced) history.replaceState(null, "", replaced);
      answer({ html, entry, waiting: before.length });
      return true;
    }
    if (response.status === 401) {
      state = { failed: state.failed + 1, loggedOut: true };
      keep({ ...entry, tries: entry.tries + 1 });
      changed({ failed: entry });
      return false;
    }
    if (response.headers.has("X-Refused")) return refused(entry, html, told("X-Refused"), response.headers.get("X-Change"), response.status);
    if (response.status === 403) await renewed();
    if ([400, 404, 413, 414].includes(response.status)) return refused(entry, "", words.failed, "", response.status);
    return away(entry);
  }

  function post(entry) {
    const ago = String(Math.max(0, Date.now() - entry.at));
    const body = new URLSearchParams({ ...entry.fields, device, user: entry.user, ago });
    const headers = { "HX-Request": "true", "HX-Current-URL": location.href, "X-CSRFToken": token() };
    const signal = AbortSignal.timeout ? AbortSignal.timeout(15000) : undefined;
    return fetch(words.address, { method: "POST", body, headers, signal, credentials: "same-origin", redirect: "manual" });
  }

  // The cookie and not the page: after a log-in in another tab the page's own token is old.
  function token() {
    const cookie = document.cookie.match(/(?:^|; )(?:__Host-)?csrftoken=([^;]+)/);
    const input = document.querySelector("#console [name=csrfmiddlewaretoken]");
    return cookie ? cookie[1] : input ? input.value : "";
  }

  // A 403 that is no refusal is about the token: any answer of the console brings a new one.
  async function renewed() {
    try { await fetch(words.page, { headers: { "HX-Request": "true" }, credentials: "same-origin" }); } catch { /* next time */ }
  }

  function away(entry) {
    state = { failed: state.failed + 1, loggedOut: false };
    keep({ ...entry, tries: entry.tries + 1 });
    changed({ failed: entry });
    return false;
  }

  function refused(entry, html, reason, change, status) {
    state = { failed: 0, loggedOut: false };
    const entries = list();
    const just = entry.tab === tab && !entry.tries && (entry.aside || entries.length === 1) && Date.now() - entry.at < 10000;
    // Its content stands in the form that the answer shows, unless something else is being entered there.
    const asked = new CustomEvent("queue:refused", { detail: { html, entry }, cancelable: true });
    if (just && html && !document.dispatchEvent(asked)) {
      drop(entry.name);
      changed();
      return true;
    }
    keep({ ...entry, tries: entry.tries + 1, refused: { reason, change, status } });
    changed({ failed: entry, refused: true });
    return false;
  }

  function answer(detail) {
    document.dispatchEvent(new CustomEvent("queue:answer", { detail }));
    changed();
  }

  function retry() {
    if (document.visibilityState === "visible") pump();
  }
  window.addEventListener("online", retry);
  window.addEventListener("pageshow", retry);
  document.addEventListener("visibilitychange", retry);
  window.addEventListener("storage", function (event) {
    if (event.key && !event.key.startsWith("unsent:")) return;
    changed({ elsewhere: true });
    setTimeout(retry, 500); // the page where it was entered comes first: it shows the answer
  });

  // ---- said ----

  const part = (name) => box.querySelector(`[data-${name}]`);
  const filled = (text, values) => Object.entries(values).reduce((said, [name, value]) => said.replaceAll(`{${name}}`, value), text);

  function show() {
    const entries = list();
    const first = stopped() || entries[0];
    const others = all().filter((entry) => entry.user !== words.user);
    const stuck = Boolean(stopped());
    const late = entries.some((entry) => entry.tries || entry.tab !== tab || Date.now() - entry.at > shownAfter);
    const rest = elsewhere();
    box.hidden = !(rest.length || others.length || (first && late));
    box.classList.toggle("unsent-stuck", stuck);
    if (!stuck) asking = false;
    if (box.hidden) return;
    const number = entries.length + others.length;
    const why = stuck ? [] : [first && (state.loggedOut ? words.loggedOut : state.failed ? words.away : words.sending)];
    why.push(...[...new Set(others.map((entry) => entry.user))].map((user) => filled(words.other, { user })));
    say("count", number ? filled(words.notSent, { number }) : "");
    say("why", why.filter(Boolean).join(" "));
    part("login").hidden = !(others.length || (first && state.loggedOut));
    part("list").hidden = !number;
    const open = part("list").getAttribute("aria-expanded") === "true" && number;
    const shown = document.getElementById("unsent-list");
    shown.hidden = !open;
    shown.replaceChildren(...(open ? all() : []).map(item));
    part("refusal").hidden = !stuck;
    if (stuck) {
      say("refused-entry", filled(words.refused, { entry: first.words }));
      say("reason", first.refused.reason);
      say("behind-it", entries.length > 1 ? filled(words.behind, { number: entries.length - 1 }) : "");
      part("change").hidden = !first.refused.change;
      part("ways").hidden = asking;
      part("sure").hidden = !asking;
    }
    const there = part("elsewhere-list");
    there.hidden = !rest.length;
    there.replaceChildren(...rest);
  }

  function say(name, text) {
    if (part(name).textContent !== text) part(name).textContent = text; // said once, not at every look
  }

  function item(entry) {
    const line = document.createElement("li");
    const at = new Date(entry.at).toLocaleTimeString([], { hour: "2-digit", minute: "2-digit", second: "2-digit", hour12: false, timeZone: words.zone });
    line.textContent = `${at} · ${entry.words}${entry.user === words.user ? "" : ` · ${entry.user}`}`;
    return line;
  }

  function elsewhere() {
    const counts = {};
    for (const name of names("unsent:")) {
      const table = name.split(":")[1];
      if (table !== words.table) counts[table] = (counts[table] || 0) + 1;
    }
    return Object.entries(counts).map(function ([table, number]) {
      const line = document.createElement("li");
      const link = document.createElement("a");
      link.href = words.page.replace(words.table, table);
      link.textContent = filled(words.elsewhere, { table, number });
      line.append(link);
      return line;
    });
  }

  // One line lies over the bar of the page, so that no key moves under a finger; grown, it moves all of the page down.
  function makeRoom() {
    const bar = document.querySelector(".bar");
    const height = Math.ceil(box.getBoundingClientRect().height);
    const empty = parseFloat(getComputedStyle(document.getElementById("main")).paddingTop); // px, under the bar
    const room = bar && height > bar.offsetHeight + empty ? height : 0;
    document.documentElement.style.setProperty("--unsent-room", `${room}px`);
    document.dispatchEvent(new CustomEvent("queue:room"));
  }
  if (window.ResizeObserver) new ResizeObserver(makeRoom).observe(box);

  box.addEventListener("click", function (event) {
    const pressed = (name) => event.target.closest(`[data-${name}]`);
    const first = stopped();
    if (pressed("list")) part("list").setAttribute("aria-expanded", String(part("list").getAttribute("aria-expanded") !== "true"));
    if (pressed("discard")) asking = true;
    if (pressed("keep")) asking = false;
    if (first) {
      if (pressed("again")) {
        keep({ ...first, refused: null });
        caughtUp();
        asking = false;
        pump();
      }
      if (pressed("change")) document.dispatchEvent(new CustomEvent("queue:change", { detail: { address: first.refused.change } }));
      if (pressed("discard-sure")) {
        drop(first.name);
        for (const entry of list()) if (entry.fields.entry_key === first.fields.key) drop(entry.name); // nothing is left to undo
        caughtUp();
        asking = false;
        changed();
        pump();
      }
    }
    show();
    if (pressed("discard")) part("keep").focus();
    if (pressed("keep")) part("again").focus();
  });

  window.deviceQueue = {
    device,
    // Whether an entry was refused and stands in the way of what comes after it.
    stuck: () => list().some((entry) => entry.refused),
    // Whether a form stands for an entry that waits here already: sent again, it takes that one's turn.
    holds: (key) => all().some((entry) => entry.fields.key === key),
    fresh: () => `${device}.${secret(16)}`,
    // What is on its way and not refused: a refused entry stops those behind it.
    pending: () => (stopped() ? list().filter((entry) => entry.aside && !entry.refused) : list()),
  };

  document.addEventListener("DOMContentLoaded", function () {
    changed();
    pump();
  });
})();
