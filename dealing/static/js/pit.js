// The pit: asks once a second what has changed and puts only that in place, so that focus, scrolling and whatever is
// being read stay where they are. Times tick on the device, by the server's clock.
(function () {
  "use strict";

  const pit = document.getElementById("pit");
  if (!pit) return;

  const EVERY = 1000; // ms
  const LATE = 4000; // ms without an answer: what is shown is not up to date
  const AGAIN = 60000; // ms between two sounds while the same table waits
  const words = pit.dataset;
  const tiles = () => pit.querySelector(".pit-tiles");
  const banner = () => pit.querySelector("[data-pit-banner]");

  // ---- times

  const ahead = new Date(words.now) - Date.now(); // of the server's clock

  function lasted(since) {
    const s = Math.max(0, Math.floor((Date.now() + ahead - since) / 1000));
    const join = (n, unit) => `${n}\u00a0${unit}`;
    if (s < 120) return join(s, words.s);
    const min = Math.floor(s / 60);
    if (min < 60) return join(min, words.min);
    const h = Math.floor(min / 60);
    if (h < 48) return `${join(h, words.h)} ${join(min % 60, words.min)}`;
    return join(Math.floor(h / 24), words.d);
  }

  function tick() {
    for (const time of pit.querySelectorAll("[data-since]")) {
      const text = lasted(new Date(time.dateTime));
      if (time.textContent !== text) time.textContent = text;
    }
  }

  // ---- what has changed

  function put(answer) {
    const fresh = document.createElement("template");
    fresh.innerHTML = answer;
    const list = fresh.content.querySelector("[data-stamp]");
    const focused = document.activeElement && document.activeElement.id;

    const before = banner().dataset.needing;
    const now = fresh.content.querySelector("[data-pit-banner]");
    if (banner().outerHTML !== now.outerHTML) banner().replaceWith(now);

    for (const tile of list.querySelectorAll(".pit-tile")) {
      const old = document.getElementById(tile.id);
      if (old) old.replaceWith(tile);
      else tiles().append(tile);
    }
    const order = list.dataset.order.split(" ").filter(Boolean);
    for (const tile of [...tiles().children]) if (!order.includes(tile.dataset.code)) tile.remove();
    order.forEach(function (code, at) {
      const tile = document.getElementById(`tile-${code}`);
      if (tiles().children[at] !== tile) tiles().insertBefore(tile, tiles().children[at]);
    });
    tiles().dataset.stamp = list.dataset.stamp;

    const again = focused && document.getElementById(focused);
    if (again && document.activeElement !== again) again.focus({ preventScroll: true });
    tick();
    tell(before);
  }

  function needing(text) {
    return text.split(" ").filter(Boolean);
  }

  function tell(before) {
    const now = needing(banner().dataset.needing);
    document.title = (now.length ? `(${now.length}) ` : "") + words.title;
    const was = needing(before);
    const heading = banner().querySelector(".pit-banner-words");
    if (before !== banner().dataset.needing) {
      document.querySelector("[data-pit-said]").textContent = heading ? heading.textContent.trim() : "";
    }
    if (now.some((incident) => !was.includes(incident))) beep();
  }

  // ---- asking

  let answered = Date.now();
  const stale = document.querySelector("[data-pit-stale]");

  function fresh() {
    answered = Date.now();
    stale.hidden = true;
  }

  function late() {
    if (!stale.hidden || Date.now() - answered < LATE) return;
    stale.hidden = false;
    stale.querySelector("[data-pit-stale-since]").textContent = new Date(answered).toLocaleTimeString(document.documentElement.lang, { hour12: false, timeZone: stale.dataset.zone || undefined });
  }

  async function ask() {
    try {
      const response = await fetch(`${words.live}?seen=${tiles().dataset.stamp}`, {
        headers: { "X-Requested-With": "fetch" },
        cache: "no-store",
        signal: AbortSignal.timeout ? AbortSignal.timeout(10000) : undefined,
      });
      if (response.redirected || response.status === 403) {
        window.location.reload(); // the session is over: to the log-in, and back here
        return;
      }
      if (response.status === 200) put(await response.text());
      if (response.ok) fresh();
    } catch {
      // no answer: `late` says so
    }
    setTimeout(ask, EVERY);
  }

  // ---- which tables

  const shows = document.querySelector("[data-pit-shows]");

  function show(which) {
    pit.dataset.show = which;
    for (const link of shows.querySelectorAll("[data-show]")) {
      if (link.dataset.show === which) link.setAttribute("aria-current", "true");
      else link.removeAttribute("aria-current");
    }
  }

  shows.addEventListener("click", function (event) {
    const link = event.target.closest("[data-show]");
    if (!link || event.ctrlKey || event.metaKey || event.shiftKey) return;
    event.preventDefault();
    show(link.dataset.show);
    window.history.replaceState(null, "", link.href);
  });

  // A table named in the banner is in sight after the press, whichever are shown.
  pit.addEventListener("click", function (event) {
    const link = event.target.closest("[data-pit-banner] a");
    if (!link) return;
    event.preventDefault();
    const tile = document.querySelector(link.getAttribute("href"));
    tile.scrollIntoView({ block: "center" });
    tile.querySelector(".pit-open").focus({ preventScroll: true });
  });

  // ---- sound: made here, off until somebody wants it, remembered on this device

  const KEPT = "pit sound";
  const button = document.querySelector("[data-pit-sound]");
  let sounding = false;
  let audio = null;
  let last = 0; // when it sounded

  /** A browser may refuse to keep anything; then it is off after each visit. */
  function kept(use) {
    try {
      return use(window.localStorage);
    } catch {
      return null;
    }
  }

  function said() {
    const held = sounding && (!audio || audio.state !== "running");
    button.setAttribute("aria-pressed", String(sounding));
    button.dataset.now = held ? "held" : sounding ? "on" : "off";
  }

  /** Browsers let a page sound only after somebody has pressed something on it. */
  async function wake() {
    if (!sounding) return;
    audio = audio || new window.AudioContext();
    if (audio.state !== "running") await audio.resume().catch(() => {});
    said();
  }

  function beep() {
    if (!sounding || !audio || audio.state !== "running") return;
    last = Date.now();
    const start = audio.currentTime + 0.02;
    [880, 1175, 880, 1175].forEach(function (pitch, n) {
      const tone = audio.createOscillator();
      const loud = audio.createGain();
      const at = start + n * 0.22;
      tone.frequency.value = pitch;
      tone.type = "triangle";
      loud.gain.setValueAtTime(0.0001, at);
      loud.gain.exponentialRampToValueAtTime(0.6, at + 0.02);
      loud.gain.exponentialRampToValueAtTime(0.0001, at + 0.2);
      tone.connect(loud).connect(audio.destination);
      tone.start(at);
      tone.stop(at + 0.22);
    });
    button.dataset.sounded = String(last);
  }

  if (window.AudioContext) {
    button.hidden = false;
    sounding = kept((storage) => storage.getItem(KEPT)) === "on";
    said();
    button.addEventListener("click", async function (event) {
      event.stopPropagation();
      // While it is only held back, the press wakes it and does not switch it off.
      sounding = button.dataset.now === "held" ? true : !sounding;
      kept((storage) => storage.setItem(KEPT, sounding ? "on" : "off"));
      said();
      await wake();
      if (sounding) beep(); // so that everybody knows what it sounds like
    });
    document.addEventListener("pointerdown", (event) => { if (!button.contains(event.target)) wake(); });
    document.addEventListener("keydown", (event) => { if (!button.contains(event.target)) wake(); });
  }

  setInterval(function () {
    tick();
    late();
    if (needing(banner().dataset.needing).length && Date.now() - last > AGAIN) beep();
  }, 1000);
  tick();
  setTimeout(ask, EVERY);
})();
