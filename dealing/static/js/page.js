// What every page does: theme, menus, dialogs, and saying so when the server could not be reached.
(function () {
  "use strict";

  const root = document.documentElement;

  function say(key) {
    // Where entries are kept on the device, only what needs the server has to wait for it.
    const text = document.querySelector(`[data-said="${key}-here"]`) || document.querySelector(`[data-said="${key}"]`);
    const box = document.getElementById("toasts");
    if (!text || !box) return;
    const toast = document.getElementById("toast").content.cloneNode(true);
    toast.querySelector("p").textContent = text.textContent;
    clear(box);
    box.append(toast);
  }

  // What other tables' entries wait for stays.
  function clear(box) {
    box.querySelectorAll(".toast:not(.left-behind)").forEach((toast) => toast.remove());
  }

  function darkNow() {
    if (root.dataset.theme) return root.dataset.theme === "dark";
    return window.matchMedia("(prefers-color-scheme: dark)").matches;
  }

  document.addEventListener("submit", function (event) {
    const form = event.target;
    if (form.matches("[data-theme-form]")) {
      // Without leaving the page: a hand that is being recorded must not be interrupted.
      event.preventDefault();
      const theme = darkNow() ? "light" : "dark";
      const secure = location.protocol === "https:" ? "; Secure" : "";
      root.dataset.theme = theme;
      document.cookie = `theme=${theme}; Path=/; Max-Age=31536000; SameSite=Lax${secure}`;
      return;
    }
    // A second press while the first is on its way must not send the form twice. htmx has its own guard (hx-sync).
    // The console's forms go through the device's queue, which has a key for each press.
    if (form.method === "post" && !form.closest("[data-records], [hx-post], [hx-put], [hx-patch], [hx-delete]")) {
      if (form.dataset.sent) event.preventDefault();
      form.dataset.sent = "1";
    }
  });

  // Coming back with the browser's "back" shows the page as it was left: let its forms be sent again.
  window.addEventListener("pageshow", function () {
    document.querySelectorAll("form[data-sent]").forEach((form) => delete form.dataset.sent);
  });

  document.addEventListener("click", function (event) {
    const opener = event.target.closest("[data-opens]");
    if (opener) {
      const dialog = document.getElementById(opener.dataset.opens);
      if (dialog && dialog.showModal) dialog.showModal();
    }
    const closer = event.target.closest("[data-closes]");
    if (closer) closer.closest("dialog").close();
    if (event.target.matches("dialog.sheet")) event.target.close(); // on the backdrop
    const dismiss = event.target.closest("[data-dismiss]");
    if (dismiss) dismiss.closest(".toast").remove();
    document.querySelectorAll("details[data-menu][open]").forEach(function (menu) {
      if (!menu.contains(event.target)) menu.open = false;
    });
  });

  document.addEventListener("keydown", function (event) {
    if (event.key !== "Escape") return;
    document.querySelectorAll("details[data-menu][open]").forEach(function (menu) {
      menu.open = false;
      menu.querySelector("summary").focus();
    });
  });

  // Entries that a console left on this device go out when that console is opened again: say so on every other page.
  function leftBehind() {
    const told = document.getElementById("left-behind");
    const box = document.getElementById("toasts");
    if (!told || !box || document.getElementById("unsent")) return;
    const counts = {};
    try {
      for (const name of Object.keys(localStorage)) {
        const [kind, table] = name.split(":");
        if (kind === "unsent") counts[table] = (counts[table] || 0) + 1;
      }
    } catch { return; }
    for (const [table, number] of Object.entries(counts)) {
      const toast = told.content.cloneNode(true);
      const link = document.createElement("a");
      link.href = told.dataset.address.replace("TABLE", table);
      link.textContent = told.dataset.words.replace("{table}", table).replace("{number}", number);
      toast.querySelector("p").append(link);
      box.append(toast);
    }
  }
  document.addEventListener("DOMContentLoaded", leftBehind);

  // On a telephone the sections do not all fit beside each other: the one that is open is to be seen.
  document.addEventListener("DOMContentLoaded", function () {
    const current = document.querySelector(".nav [aria-current]");
    if (!current) return;
    const nav = current.closest(".nav");
    const here = current.getBoundingClientRect(), all = nav.getBoundingClientRect();
    if (here.left < all.left || here.right > all.right) nav.scrollLeft += here.left - all.left - (all.width - here.width) / 2;
  });

  // What a page asks by itself beside a person's work (data-quiet) says nothing and leads nowhere: only a press does.
  const quiet = (event) => event.detail.elt.hasAttribute("data-quiet");

  document.addEventListener("htmx:beforeOnLoad", function (event) {
    if (quiet(event) && event.detail.xhr.getResponseHeader("HX-Redirect")) event.preventDefault(); // to the log-in page
  });

  document.addEventListener("page:say", (event) => say(event.detail));
  document.addEventListener("htmx:sendError", (event) => { if (!quiet(event)) say("offline"); });
  document.addEventListener("htmx:timeout", (event) => { if (!quiet(event)) say("offline"); });
  document.addEventListener("htmx:responseError", function (event) {
    if (quiet(event)) return;
    say(event.detail.xhr.status === 403 ? "stale" : "failed");
  });
  document.addEventListener("htmx:afterRequest", function (event) {
    if (event.detail.successful && !quiet(event)) clear(document.getElementById("toasts"));
  });
})();
