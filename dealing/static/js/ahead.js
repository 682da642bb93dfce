// Goes ahead of the server: shows an entry at once, on its way, and what comes next if the rules say what they mostly do.
// It knows no rule: the places, totals and winners are looked up in what the judge's own layouts say (dealing/console/ahead.py).
// View = the server's last answer and, over it, the entries that are still on their way. The server's word always wins.
(function () {
  "use strict";

  const words = (document.getElementById("ahead") || {}).dataset;
  if (!words || !window.deviceQueue) return;

  const OPEN = ["betting", "dealing", "complete", "called"];
  const BEGINS = ["betting_opened", "betting_closed", "bet", "card"];
  const SETTLES = ["called", "paid", "paid_all", "hand_closed"]; // no card is due after these, whatever comes of them
  const DOCK = [...BEGINS, "called", "hand_closed"];

  let rules = null; // { values, states }
  let pristine = null; // what the server drew and this file draws over
  let drawn = false;
  let shownPhase = "";
  let early = ""; // the hand that a person means to close although it may owe something
  let expected = null; // where the hand should stand after the answer that is about to be shown

  const console_ = () => document.getElementById("console");
  const part = (name) => document.getElementById(`ahead-${name}`).content.firstElementChild.cloneNode(true);
  const isOpen = (model) => OPEN.includes(model.phase);
  const filled = (text, values) => Object.entries(values).reduce((said, [name, value]) => said.replace(new RegExp(`%\\(${name}\\)[sd]`), value), text);

  // ---- where the hand stands ----

  // What the server said last; the phase in the page itself may be one that is shown ahead.
  function served() {
    const said = console_().dataset;
    const known = said.layout !== "" && rules;
    return { phase: pristine.phase, hand: Number(said.hand), state: known ? Number(said.layout) : null, dealt: Number(said.cards), bets: Number(said.bets), cards: [], fresh: false, unsure: !known };
  }

  const start = (hand, phase) => ({ phase, hand, state: 0, dealt: 0, bets: 0, cards: [], fresh: true, unsure: false, ended: null });

  // A hand that is closed leaves nothing open, whatever was unsure in it. `ended`: the state of its last card, if known.
  const over = (model) => ({ ...start(model.hand, "over"), fresh: model.fresh, cards: model.cards, ended: isDone(model) ? model.state : null, unsure: !rules });

  // Whether the cards of the hand say its result; what follows from that may be unsure all the same (`result`).
  const isDone = (model) => Boolean(rules) && model.state !== null && (!model.unsure || Boolean(model.result)) && !rules.states[model.state][0];

  function step(model, fields) {
    if (fields.event === "hand_closed" && isOpen(model)) return over(model);
    if (model.unsure) return fields.event === "card" ? lay(model, fields) : model;
    const unsure = { ...model, unsure: true };
    const next = isOpen(model) ? model.hand : model.hand + 1;
    const between = model.phase === "ready" || model.phase === "over";
    switch (fields.event) {
      case "betting_opened":
        return between ? start(next, "betting") : unsure;
      case "betting_closed":
        return between ? start(next, "dealing") : model.phase === "betting" ? { ...model, phase: "dealing" } : unsure;
      case "bet":
        return between ? unsure : { ...model, bets: model.bets + 1 };
      case "card":
        if (model.phase === "betting") return lay(unsure, fields); // before betting is closed: that is unusual
        return between ? lay(start(next, "dealing"), fields) : model.phase === "dealing" ? lay(model, fields) : unsure;
      case "cut_card":
        return fields.during === "hand" && isOpen(model) ? { ...model, last: model.hand + moreHands() } : unsure;
      case "called":
        return model.phase === "complete" ? call(model, fields) : unsure;
      case "paid":
      case "paid_all":
        return { ...unsure, result: isDone(model) };
      default:
        return unsure;
    }
  }

  // A card as it was tapped or typed; null for what only the server can read.
  function read(fields) {
    const typed = /^\s*(?:([pb][123])\s+)?(?:(10|[a2-9tjqk])([shdc])?|([x?]))?\s*$/i.exec(fields.card || "");
    if (!typed) return null;
    const [, place, rank, suit, down] = typed;
    const tapped = fields.card_rank || "";
    const card = {
      place: (place || fields.to || "").toUpperCase(),
      rank: (tapped || rank || "").toUpperCase().replace("10", "T"),
      suit: (fields.card_suit || suit || "").toLowerCase(),
      down: Boolean(down) || (fields.face === "down" && !(tapped && fields.card_suit)),
    };
    return (card.rank || card.down) && /^[PB][123]$/.test(card.place) ? card : null;
  }

  function name(card) {
    return card.down ? words.faceDown : (card.rank === "T" ? "10" : card.rank) + (words[`suit${card.suit.toUpperCase()}`] || "");
  }

  function lay(model, fields) {
    const card = read(fields);
    if (!card) return { ...model, unsure: true, result: false };
    const cards = [...model.cards, { place: card.place, text: card.down ? "?" : name(card), said: name(card) }];
    const row = model.unsure ? null : rules.states[model.state];
    const whole = card.suit || console_().hasAttribute("data-ranks");
    if (!row || card.down || !whole || row[0] !== card.place) return { ...model, cards, unsure: true, result: false };
    const state = row[4][rules.values[card.rank]];
    return { ...model, cards, state, dealt: model.dealt + 1, phase: rules.states[state][0] ? "dealing" : "complete" };
  }

  function call(model, fields) {
    const [, player, banker, winner] = rules.states[model.state];
    const [said, ...totals] = (fields.call || "").split(" ");
    const right = said === winner && (!totals.length || totals.join() === [player, banker].join());
    if (!right) return { ...model, phase: "called", unsure: true, result: true };
    if (!fields.follow || !follows(model)) return { ...model, phase: "called", owed: model.bets > 0 };
    return isLast(model) ? over(model) : start(model.hand + 1, "betting");
  }

  // Whether the right call takes the table on: not where money or insurance has to be looked at first.
  function follows(model) {
    const set = console_().dataset;
    return "follow" in set && !model.bets && !("insured" in set && model.dealt > 4);
  }

  // How many hands the rules still have after the one in which the cut card comes.
  function moreHands() {
    return Number(console_().dataset.more || 0);
  }

  function isLast(model) {
    const last = model.last || console_().dataset.last;
    return last !== "" && model.hand >= Number(last);
  }

  // What is on its way, without what was taken back again while it was.
  function onTheWay() {
    const left = [];
    for (const entry of window.deviceQueue.pending()) {
      const back = entry.fields.event === "amended" && entry.fields.entry_key;
      if (back && left.length && left[left.length - 1].fields.key === back) left.pop();
      else left.push(entry);
    }
    return left;
  }

  // Whether what is on its way leaves it open which place is due.
  function lost() {
    const entries = onTheWay();
    return window.deviceQueue.stuck() || (entries.length > 0 && entries.reduce((before, entry) => step(before, entry.fields), served()).unsure);
  }

  // Whether the page goes on to the next hand with this call.
  function goesOn(fields) {
    if (fields.event !== "called" || !rules) return false;
    const after = [...onTheWay().map((entry) => entry.fields), fields].reduce(step, served());
    return !after.unsure && after.phase !== "called";
  }

  // ---- drawn ----

  function draw() {
    const page = console_();
    if (!page || !pristine) return;
    const entries = onTheWay();
    if (!entries.length && !drawn) { shownPhase = page.dataset.phase; return; }
    const model = entries.reduce((before, entry) => step(before, entry.fields), served());
    page.dataset.phase = model.phase;
    page.toggleAttribute("data-ahead", entries.length > 0);
    page.toggleAttribute("data-fresh", model.fresh);
    drawTable(page, model, entries);
    drawDock(page, model, entries);
    drawn = entries.length > 0;
    if (model.phase !== shownPhase) {
      shownPhase = model.phase;
      const more = page.querySelector(".dock-more");
      if (more) more.open = model.phase !== "complete" && model.phase !== "called";
    }
    window.tableConsole.ready();
  }

  function drawTable(page, model, entries) {
    const ahead = entries.length > 0;
    const old = page.querySelector(".console-table");
    if (!old || !pristine.table) return;
    const table = pristine.table.cloneNode(true);
    if (ahead && model.fresh) table.replaceChildren(part("felt"), part("due"));
    const felt = table.querySelector(".felt");
    if (ahead && felt) {
      model.cards.forEach((card) => put(felt, card));
      const settles = entries.every((entry) => SETTLES.includes(entry.fields.event));
      if (settles && table.querySelector(".due-done")) { /* the server has said the result already, and why */ }
      else if (model.phase === "over" && model.ended === null) table.querySelector(".due:not(.due-done)")?.remove();
      else if (!model.unsure || model.result) mark(table, felt, model);
      else if (!settles) waiting(table, felt);
    }
    old.replaceWith(table);
    if (window.htmx) window.htmx.process(table);
  }

  function placeOn(felt, place) {
    const there = felt.querySelector(`[data-place="${place}"]`);
    if (there) return there;
    const made = part("place");
    made.dataset.place = place;
    made.classList.add(`felt-place-${place[1]}`);
    made.querySelector(".card-slot").classList.toggle("card-slot-3", place[1] === "3");
    made.querySelector(".card-slot span").textContent = place;
    felt.querySelector(`.felt-side-${place[0]} .felt-places`).append(made);
    return made;
  }

  function put(felt, { place, text, said }) {
    const on = placeOn(felt, place);
    const card = part("card");
    card.querySelector("span").textContent = text;
    card.setAttribute("aria-label", filled(words.pending, { card: said, place: words[`place${place}`] }));
    card.classList.toggle("card-slot-3", place[1] === "3");
    const slot = on.querySelector(".card-slot:not(.card-pending)");
    if (slot) slot.replaceWith(card);
    else on.prepend(card);
    on.querySelector(".felt-place-name").textContent = place;
  }

  // Nothing is guessed: the server's answer says what is due.
  function waiting(table, felt) {
    felt.querySelectorAll(".card-slot-due").forEach((slot) => slot.classList.remove("card-slot-due"));
    const line = part("due");
    line.querySelector(".due-words").textContent = words.unsure;
    line.querySelector(".due-place").hidden = true;
    replaceDue(table, felt, line);
  }

  function replaceDue(table, felt, line) {
    const old = table.querySelector(".due");
    if (old) old.replaceWith(line);
    else felt.after(line);
  }

  function mark(table, felt, model) {
    const [due, player, banker, winner] = rules.states[model.ended ?? model.state];
    felt.querySelectorAll(".card-slot-due").forEach((slot) => {
      slot.classList.remove("card-slot-due");
      slot.closest(".felt-place").querySelector(".felt-place-name").textContent = "\u00a0";
    });
    if (due) placeOn(felt, due).querySelector(".card-slot:not(.card-pending)")?.classList.add("card-slot-due");
    const shown = { P: due === "P1" ? "" : player, B: due === "P1" || due === "B1" ? "" : banker };
    for (const [side, total] of Object.entries(shown)) {
      const head = felt.querySelector(`.felt-side-${side} .felt-side-head`);
      let box = head.querySelector(".felt-total");
      if (!box && total !== "") head.append((box = Object.assign(document.createElement("span"), { className: "felt-total" })));
      if (box && total !== "") box.textContent = total;
    }
    if (model.phase === "betting") { table.querySelector(".due")?.remove(); return; }
    const line = part("due");
    const high = Math.max(player, banker);
    line.classList.toggle("due-done", Boolean(winner));
    line.querySelector(".due-words").textContent = winner ? filled(words[winner], { high, low: Math.min(player, banker), points: high }) : words[`due${due}`];
    line.querySelector(".due-place").textContent = due;
    line.querySelector(".due-place").hidden = !due;
    replaceDue(table, felt, line);
  }

  function drawDock(page, model, entries) {
    const dock = page.querySelector(".console-dock");
    if (!dock || dock.matches(".notice")) return;
    const playing = isOpen(model) ? model.hand : model.hand + 1;
    const numbers = { hand: playing, next: model.hand + 1, shown: model.hand };
    page.querySelectorAll("[data-number]").forEach((number) => { number.textContent = numbers[number.dataset.number]; });
    dock.querySelectorAll("[data-when] [data-records]").forEach((form) => {
      const event = form.querySelector("[name=event]").value;
      if (DOCK.includes(event) || event === "cut_card") form.querySelector("[name=hand]").value = BEGINS.includes(event) ? playing : model.hand;
    });
    drawPlaces(dock, model, entries.length > 0);
    drawCalls(dock, model, entries.length > 0);
    drawClose(dock, model, entries);
    drawUndo(dock, entries);
  }

  function drawPlaces(dock, model, ahead) {
    const row = dock.querySelector(".entry-places");
    if (!row || row.querySelector("[data-touched]")) return;
    if (model.unsure && !ahead) {
      row.querySelectorAll("input").forEach((key) => { key.checked = key.value === pristine.chosen; });
      return;
    }
    const due = model.unsure ? "" : rules.states[model.state][0];
    const taken = new Set([...(model.fresh ? [] : pristine.taken), ...model.cards.map((card) => card.place)]);
    row.querySelectorAll("label").forEach(function (label) {
      const key = label.querySelector("input");
      label.classList.toggle("place-due", key.value === due);
      label.classList.toggle("place-taken", taken.has(key.value));
      key.checked = key.value === due;
    });
  }

  function drawCalls(dock, model, ahead) {
    const keys = dock.querySelector(".call-keys");
    if (!keys) return;
    if (!ahead) { keys.replaceWith(pristine.calls.cloneNode(true)); return; }
    const [, player, banker, winner] = model.unsure ? [] : rules.states[model.state];
    keys.querySelectorAll("[data-side]").forEach(function (key) {
      const right = key.dataset.side === winner;
      key.value = right ? `${winner} ${player} ${banker}` : key.dataset.side;
      key.classList.toggle("button-primary", right);
      key.classList.toggle("call-right", right);
      key.toggleAttribute("data-focus", right);
      key.querySelector("[data-totals]").textContent = right ? `${player}–${banker}` : "";
      key.querySelector("[data-then]").hidden = !(right && follows(model));
      key.querySelector("[data-then]").textContent = isLast(model) ? words.thenLast : words.then;
    });
  }

  // What a hand owes is known when the server answers: until then closing it waits, unless it is meant (`early`).
  function drawClose(dock, model, entries) {
    const close = dock.querySelector(".close-hand");
    if (!close) return;
    const paid = entries.some((entry) => entry.fields.event === "paid_all") || (pristine.paid && model.bets === Number(console_().dataset.bets));
    const owed = entries.length > 0 && model.bets > 0 && !paid && isOpen(model);
    const held = owed && early !== hand(model);
    let note = dock.querySelector(".close-held");
    if (held && !note) close.form.before((note = part("held")));
    if (!held && note) note.remove();
    close.form.hidden = held;
    close.classList.toggle("close-early", owed);
  }

  const hand = (model) => `${console_().dataset.shoe}.${model.hand}`;

  document.addEventListener("click", function (event) {
    if (!event.target.closest("[data-close-early]")) return;
    early = hand(onTheWay().reduce((before, entry) => step(before, entry.fields), served()));
    draw();
  });

  // "Undo" takes back what was entered last, which may still be on its way: it is named by its key then.
  function drawUndo(dock, entries) {
    const form = dock.querySelector("[data-undo]");
    if (!form) return;
    const last = entries.filter((entry) => entry.fields.event !== "amended").pop();
    form.hidden = last ? false : pristine.undo.hidden;
    form.querySelector("small").textContent = last ? last.words : pristine.undo.text;
    form.querySelector("[name=entry]").value = last ? "" : pristine.undo.entry;
    let key = form.querySelector("[name=entry_key]");
    if (!key) form.append((key = Object.assign(document.createElement("input"), { type: "hidden", name: "entry_key" })));
    key.value = last ? last.fields.key : "";
  }

  // ---- when ----

  function remember() {
    const page = console_();
    if (!page) return;
    const undo = page.querySelector("[data-undo]");
    pristine = {
      phase: page.dataset.phase,
      table: page.querySelector(".console-table")?.cloneNode(true),
      calls: page.querySelector(".call-keys")?.cloneNode(true),
      chosen: page.querySelector(".entry-places input:checked")?.value,
      taken: [...page.querySelectorAll(".place-taken input")].map((key) => key.value),
      paid: Boolean(page.querySelector("#pays")) && !page.querySelector("[data-pays]"),
      undo: undo && { hidden: undo.hidden, text: undo.querySelector("small").textContent, entry: undo.querySelector("[name=entry]").value },
    };
    drawn = false;
  }

  document.addEventListener("console:shown", function (event) {
    if (event.detail && event.detail.same) return;
    const was = expected;
    expected = null;
    remember();
    const now = served();
    if (was && !was.unsure && !was.owed && (was.phase !== now.phase || was.hand !== now.hand || (now.state !== was.state && isOpen(now)))) differs();
    draw();
  });

  function differs() {
    const notice = Object.assign(document.createElement("p"), { className: "notice notice-danger console-said", textContent: words.differs });
    notice.setAttribute("role", "alert");
    console_().querySelector(".console-head").after(notice);
  }

  document.addEventListener("queue:answer", (event) => { expected = pristine && step(served(), event.detail.entry.fields); });

  document.addEventListener("queue:entering", function (event) {
    const { fields, form } = event.detail;
    // Where nobody chose a place and none can be told yet, the card goes to the one that is due when it arrives.
    const open = form.matches("#entry") && fields.event === "card" && !window.deviceQueue.holds(fields.key) && lost();
    if (open && !form.querySelector(".entry-places [data-touched]")) fields.to = "proposed";
    event.detail.follows = goesOn(fields);
    const card = fields.event === "card" && read(fields);
    if (card) event.detail.words = `${name(card)} → ${card.place}`;
    else if (fields.event === "card" || fields.event === "burn_card") event.detail.words = `${fields.card_rank || ""}${fields.card || ""}${words[`suit${(fields.card_suit || "").toUpperCase()}`] || ""}`;
  });

  document.addEventListener("queue:added", function (event) {
    const { entry, form } = event.detail;
    // A control that goes on with the hand is pressed again for the next one: that is another press.
    const guessed = DOCK.includes(entry.fields.event) && rules && console_().dataset.layout !== "" && form.closest("[data-when]");
    if (guessed || (form.matches("[data-undo]") && entry.fields.entry_key)) form.querySelector("[name=key]").value = window.deviceQueue.fresh();
  });

  document.addEventListener("queue:changed", draw);

  fetch(words.tableau).then((response) => response.json()).then((data) => { rules = data; draw(); }).catch(() => { /* without it nothing is guessed */ });

  remember();
})();
