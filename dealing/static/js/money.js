// Bets and pays: Enter goes on, one seat bets several times without typing it again, what differs is said at once.
// Which bets would be flagged comes with the page from the judge; nothing of the rules is known here.
(function () {
  "use strict";

  let touch = window.matchMedia("(pointer: coarse)").matches; // how the page was used last
  let betting = false; // the last press was a bet: the next one is probably too
  let loud = ""; // the banner that was announced last
  let scrolled = { phase: "", top: 0 }; // how far the middle of the dock was scrolled

  const bets = () => document.querySelector("#console [data-bets]");
  const chosen = (form, name) => form.querySelector(`[name=${name}]:checked`);

  // ---- bets ----

  function seat(form) {
    const other = form.querySelector("[name=seat_other]");
    const key = chosen(form, "seat");
    return (other && other.value.trim()) || (key ? key.value : "");
  }

  function warn(form) {
    const said = form.querySelector("[data-warning]");
    if (!said) return;
    const bet = chosen(form, "bet");
    const warnings = bet ? JSON.parse(bet.dataset.warnings || "{}") : {};
    const words = warnings[seat(form)] || warnings[""] || "";
    const text = words ? `${said.dataset.words} ${words}` : "";
    if (said.textContent !== text) said.textContent = text;
  }

  document.addEventListener("input", function (event) {
    const form = event.target.closest("form");
    if (!form || !form.querySelector("[data-bet-keys]")) return;
    if (event.target.name === "seat_other" && event.target.value.trim()) {
      form.querySelectorAll("[name=seat]").forEach((key) => { key.checked = false; });
    }
    if (event.target.name === "seat") form.querySelector("[name=seat_other]").value = "";
    warn(form);
  });

  function toBets(form) {
    const key = chosen(form, "bet") || form.querySelector("[name=bet]");
    if (key) key.focus();
  }

  document.addEventListener("keydown", function (event) {
    const form = event.target.closest && event.target.closest("[data-bets]");
    if (!form || event.ctrlKey || event.metaKey || event.altKey) return;
    const { name, type } = event.target;
    if (event.key === "Enter" && name === "seat_other") {
      event.preventDefault();
      toBets(form);
    } else if (event.key === "Enter" && (name === "seat" || name === "bet")) {
      event.preventDefault();
      event.target.click();
      if (name === "seat") toBets(form);
      else form.querySelector("[data-stake]").focus();
    } else if (type === "radio" && /^[1-9]$/.test(event.key)) {
      const key = form.querySelector(`[name=seat][value="${event.key}"]`);
      if (!key) return;
      event.preventDefault();
      key.click();
      toBets(form);
    }
  });

  document.addEventListener("focusin", function (event) {
    if (event.target.matches("[data-stake], .pay-amount")) event.target.select();
  });

  // The next bet can be entered before the answer to this one is there: it is another press.
  document.addEventListener("queue:added", function (event) {
    const { form } = event.detail;
    betting = form.matches("[data-bets]");
    if (!betting) return;
    form.querySelector("[name=key]").value = window.deviceQueue.fresh();
    form.querySelectorAll("[name=bet]").forEach((key) => { key.checked = false; });
    warn(form);
    if (!touch) toBets(form);
  });

  // ---- pays ----

  // Amounts are compared as whole ten-thousandths: no binary fraction comes near money.
  function units(text) {
    const plain = text.replace(/[,\s]/g, "");
    const parts = /^(-?)(\d+)(?:\.(\d{1,4}))?$/.exec(plain);
    if (!parts) return null;
    const amount = BigInt(parts[2]) * 10000n + BigInt((parts[3] || "").padEnd(4, "0"));
    return parts[1] ? -amount : amount;
  }

  function money(amount) {
    const whole = (amount < 0n ? -amount : amount).toString().padStart(5, "0");
    const cents = whole.slice(-4).replace(/00$/, "");
    return `${amount < 0n ? "−" : "+"}${whole.slice(0, -4).replace(/\B(?=(\d{3})+$)/g, ",")}.${cents}`;
  }

  function differ(input) {
    const said = document.getElementById(`${input.id}-said`);
    const typed = units(input.value);
    const owed = units(input.dataset.owed);
    const row = input.closest(".pay");
    const difference = typed === null || owed === null ? 0n : typed - owed;
    row.classList.toggle("pay-differs", difference !== 0n);
    if (!said || said.matches(".field-error")) return;
    said.textContent = difference === 0n ? "" : `${money(difference)} ${difference < 0n ? said.dataset.less : said.dataset.more}`;
  }

  document.addEventListener("input", (event) => { if (event.target.matches(".pay-amount")) differ(event.target); });

  // Enter in a row's amount pays that row, not the first one and not all.
  document.addEventListener("keydown", function (event) {
    if (event.key !== "Enter" || !event.target.matches(".pay-amount")) return;
    event.preventDefault();
    event.target.closest(".pay").querySelector("[data-row]").click();
  });

  // ---- after every answer ----

  function announce() {
    const banner = document.querySelector("#console [data-loud]");
    const now = banner ? banner.dataset.loud : "";
    if (now && now !== loud) document.getElementById("said-loud").textContent = banner.textContent.trim().replace(/\s+/g, " ");
    loud = now;
  }

  const phase = () => document.getElementById("console").dataset.phase;

  document.addEventListener("scroll", function (event) {
    if (event.target.matches && event.target.matches(".console-dock > *")) scrolled = { phase: phase(), top: event.target.scrollTop };
  }, true);

  function ready() {
    announce();
    if (scrolled.top && scrolled.phase === phase()) {
      document.querySelectorAll(".console-dock > :not(.dock-foot)").forEach((part) => { part.scrollTop = scrolled.top; });
    } else {
      scrolled.top = 0;
    }
    document.querySelectorAll("#console .pay-amount").forEach(differ);
    const form = bets();
    if (!form) return;
    warn(form);
    if (!betting || touch || document.querySelector("dialog:modal")) return;
    const wrong = form.querySelector("[aria-invalid]");
    if (wrong) wrong.focus();
    else if (!form.contains(document.activeElement)) toBets(form);
  }

  document.addEventListener("pointerdown", (event) => { touch = event.pointerType === "touch"; }, true);
  document.addEventListener("keydown", () => { touch = false; }, true);

  const region = document.createElement("p");
  region.id = "said-loud";
  region.className = "visually-hidden";
  region.setAttribute("role", "alert");
  document.body.append(region);

  document.addEventListener("DOMContentLoaded", ready);
  document.addEventListener("console:shown", ready);
  document.addEventListener("htmx:afterSettle", ready);
})();
