// The frame of all pages: menus, dialogs, the theme, the browser's time zone, and keys that work everywhere.

const isTyping = (target) => target.closest("input, textarea, select, [contenteditable]");

// A menu closes by Escape, which gives the focus back, and when something else is clicked or focused.
const openMenus = () => document.querySelectorAll("details[data-menu][open]");
for (const kind of ["click", "focusin"]) {
  document.addEventListener(kind, (event) => {
    for (const menu of openMenus()) {
      if (!menu.contains(event.target)) menu.open = false;
    }
  });
}

for (const dialog of document.querySelectorAll("dialog")) {
  dialog.addEventListener("click", (event) => {
    if (event.target === dialog) dialog.close();
  });
}

document.addEventListener("keydown", (event) => {
  if (event.key === "Escape") {
    for (const menu of openMenus()) {
      event.preventDefault();
      menu.open = false;
      menu.querySelector("summary").focus();
    }
    if (event.target.matches("[data-search-box]")) event.target.blur();
  }
  // Where there is no palette, its key goes to the search box.
  const isCommand = event.ctrlKey || event.metaKey;
  const goesToBox = isCommand && event.key.toLowerCase() === "k" && !event.shiftKey && !document.getElementById("palette");
  if (event.altKey || (!goesToBox && (isCommand || isTyping(event.target)))) return;
  if (goesToBox || event.key === "/") {
    const box = document.querySelector("[data-search-box]");
    const page = document.querySelector("[data-search-page]");
    if (!box && !page) return;
    event.preventDefault();
    if (box) box.select();
    else location.assign(page.href);
  } else if (event.key === "?") {
    document.getElementById("keyboard-help")?.togglePopover();
  }
});

if (/Mac|iPhone|iPad/.test(navigator.platform)) {
  for (const key of document.querySelectorAll("[data-command-key]")) key.textContent = "⌘";
}

// The theme is stored by the server; here it changes at once.
document.addEventListener("submit", async (event) => {
  const form = event.target.closest("[data-theme-form]");
  if (!form) return;
  event.preventDefault();
  const theme = event.submitter.value;
  const body = new FormData(form);
  body.set("theme", theme);
  if (theme) document.documentElement.dataset.theme = theme;
  else delete document.documentElement.dataset.theme;
  for (const button of form.querySelectorAll("button")) button.setAttribute("aria-pressed", button.value === theme);
  await fetch(form.action, { method: "POST", body, redirect: "manual" });
});

// Pages show times in this zone unless the profile names another.
const zone = Intl.DateTimeFormat().resolvedOptions().timeZone;
if (zone && !document.cookie.includes(`kebab_zone=${zone}`)) {
  document.cookie = `kebab_zone=${zone}; path=/; max-age=31536000; samesite=lax`;
}
