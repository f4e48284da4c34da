// Suggestions below the search box, and the palette: documents by their titles, recent searches, pages, workspaces.
// Recent searches stay in this browser.

const RECENT = 5;
const WAIT_MS = 80;
const form = document.querySelector("form[data-suggest]");
const key = `kebab:recent:${form.action}`;

const recentSearches = () => {
  try {
    return JSON.parse(localStorage.getItem(key)) ?? [];
  } catch {
    return [];
  }
};

const remember = (text) => {
  const typed = text.trim();
  if (!typed) return;
  const others = recentSearches().filter((each) => each !== typed);
  try {
    localStorage.setItem(key, JSON.stringify([typed, ...others].slice(0, RECENT)));
  } catch {
    // A browser that stores nothing has no recent searches.
  }
};

const searchAddress = (text) => `${form.action}?${new URLSearchParams({ q: text })}`;

const documentAddress = ({ doc_id: id, chunk_id: passage }) => {
  const page = form.action.replace(/search$/, `documents/${id}`);
  return passage ? `${page}?chunk=${passage}#chunk-${passage}` : page;
};

const asRecent = (text) => ({ group: "recent", text, address: searchAddress(text) });

let asked = null;
async function findDocuments(text) {
  asked?.abort();
  asked = new AbortController();
  try {
    const answer = await fetch(`${form.dataset.suggest}?${new URLSearchParams({ q: text, limit: 6 })}`, { signal: asked.signal });
    if (!answer.ok) return [];
    const { suggestions } = await answer.json();
    return suggestions.map((each) => each.kind === "word"
      ? { group: "words", text: each.text, address: searchAddress(each.text) }
      : { group: "documents", text: each.text, beside: each.doc_path, address: documentAddress(each) });
  } catch {
    return null;
  }
}

const placesMatching = (text) => {
  const wanted = text.toLowerCase();
  return [...document.querySelectorAll(".sidebar a, .menu-list a")]
    .map((link) => ({ group: "places", text: (link.querySelector("span:not(.badge)") ?? link).textContent.trim(), address: link.href }))
    .filter(({ text: name }) => name.toLowerCase().includes(wanted));
};

const groupNames = document.getElementById("palette-list").dataset;

// A list of options below an input, by the pattern of an editable combobox.
class Combobox {
  constructor(input, list, optionsFor) {
    Object.assign(this, { input, list, optionsFor, options: [], at: -1 });
    input.setAttribute("role", "combobox");
    input.setAttribute("aria-expanded", "false");
    input.setAttribute("aria-controls", list.id);
    input.setAttribute("aria-autocomplete", "list");
    input.addEventListener("input", () => this.refresh());
    // Not where the page itself has set the focus, before anything was pressed.
    input.addEventListener("focus", () => navigator.userActivation?.hasBeenActive === false || this.refresh());
    input.addEventListener("blur", () => this.close());
    input.addEventListener("keydown", (event) => this.press(event));
    // The input keeps the focus, so that the list is still there when the click ends.
    list.addEventListener("mousedown", (event) => event.preventDefault());
  }

  refresh() {
    clearTimeout(this.timer);
    this.timer = setTimeout(async () => {
      const options = await this.optionsFor(this.input.value.trim());
      if (options && document.activeElement === this.input) this.show(options);
    }, this.input.value ? WAIT_MS : 0);
  }

  show(options) {
    this.options = options;
    this.at = -1;
    this.list.replaceChildren(...this.rows(options));
    this.list.hidden = !options.length;
    this.input.setAttribute("aria-expanded", String(options.length > 0));
    this.input.removeAttribute("aria-activedescendant");
  }

  rows(options) {
    const groups = new Map();
    for (const [index, option] of options.entries()) {
      if (!groups.has(option.group)) groups.set(option.group, this.group(groupNames[option.group]));
      const row = document.createElement("a");
      row.id = `${this.list.id}-${index}`;
      row.setAttribute("role", "option");
      row.tabIndex = -1;
      row.href = option.address;
      row.append(option.text);
      if (option.beside) {
        const beside = document.createElement("span");
        beside.textContent = option.beside;
        row.append(beside);
      }
      groups.get(option.group).append(row);
    }
    return groups.values();
  }

  group(name) {
    const group = document.createElement("div");
    group.setAttribute("role", "group");
    group.setAttribute("aria-label", name);
    const head = document.createElement("p");
    head.setAttribute("aria-hidden", "true");
    head.textContent = name;
    group.append(head);
    return group;
  }

  press(event) {
    const step = { ArrowDown: 1, ArrowUp: -1 }[event.key];
    const dialog = this.list.closest("dialog");
    if (event.key === "Escape" && dialog) {
      // The browser would empty the input first.
      event.preventDefault();
      dialog.close();
    } else if (event.key === "Escape" && !this.list.hidden) {
      event.preventDefault();
      event.stopPropagation();
      this.close();
    } else if (event.key === "Enter" && this.at >= 0) {
      event.preventDefault();
      location.assign(this.options[this.at].address);
    } else if (step && this.options.length && !this.list.hidden) {
      event.preventDefault();
      event.stopPropagation();
      this.choose(Math.max(-1, Math.min(this.at + step, this.options.length - 1)));
    }
  }

  choose(index) {
    this.at = index;
    for (const row of this.list.querySelectorAll("[role=option]")) {
      row.setAttribute("aria-selected", String(row.id === `${this.list.id}-${index}`));
    }
    const row = document.getElementById(`${this.list.id}-${index}`);
    row?.scrollIntoView({ block: "nearest" });
    if (row) this.input.setAttribute("aria-activedescendant", row.id);
    else this.input.removeAttribute("aria-activedescendant");
  }

  close() {
    clearTimeout(this.timer);
    this.list.hidden = true;
    this.options = [];
    this.at = -1;
    this.input.setAttribute("aria-expanded", "false");
  }
}

// Where results follow the typing, only an empty box has suggestions: the recent searches.
const isLive = form.hasAttribute("data-live");
new Combobox(form.querySelector("input[type=search]"), document.getElementById("suggestions"), async (text) => {
  if (!text) return recentSearches().map(asRecent);
  return isLive ? [] : findDocuments(text);
});

const palette = document.getElementById("palette");
const typed = palette.querySelector("input");
new Combobox(typed, document.getElementById("palette-list"), async (text) => {
  const places = placesMatching(text);
  if (!text) return [...recentSearches().map(asRecent), ...places];
  const found = await findDocuments(text);
  return found && [...found, ...places, { group: "words", text, address: searchAddress(text) }];
});

document.addEventListener("keydown", (event) => {
  if (event.key.toLowerCase() !== "k" || !(event.ctrlKey || event.metaKey) || event.altKey || event.shiftKey) return;
  event.preventDefault();
  if (palette.open) return;
  typed.value = "";
  palette.showModal();
});
palette.querySelector("form").addEventListener("submit", (event) => {
  event.preventDefault();
  if (typed.value.trim()) location.assign(searchAddress(typed.value));
});

form.addEventListener("submit", () => remember(form.elements.q.value));
document.addEventListener("click", (event) => {
  if (isLive && event.target.closest("[data-result]")) remember(form.elements.q.value);
});
// Whoever uses this browser next sees none of them.
document.addEventListener("submit", (event) => {
  if (!event.target.matches("[data-log-out]")) return;
  for (const name of Object.keys(localStorage)) {
    if (name.startsWith("kebab:recent:")) localStorage.removeItem(name);
  }
});
