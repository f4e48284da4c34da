// A search box for the pages of another site:
//
//   <script src="https://kebab.example.org/static/search/embed.js" defer></script>
//   <kebab-search workspace="handbook" token="kbb_…" href="https://docs.example.com/{page}#{anchor}"></kebab-search>
//
// The workspace must allow the site's origin (allowed_origins). Readers can see the token: give it the scope search alone,
// and filters. In `href`, {path} is the path of the document, {page} the same without its ending, {anchor} the heading as
// sites write it. Without `href` results link to Kebab.

const server = new URL(document.currentScript.src).origin;
const WAIT_MS = 80;
const STYLE = `
  :host { display: block; position: relative; font: inherit; color-scheme: light dark; }
  input { box-sizing: border-box; width: 100%; padding: .5em .75em; font: inherit; color: inherit; background: Field;
          border: 1px solid GrayText; border-radius: .5em; }
  [role=listbox] { position: absolute; z-index: 1000; left: 0; right: 0; margin: .25em 0 0; padding: .25em; list-style: none;
                   max-height: 24em; overflow: auto; background: Canvas; color: CanvasText;
                   border: 1px solid GrayText; border-radius: .5em; box-shadow: 0 4px 16px rgb(0 0 0 / .2); }
  a { display: block; padding: .4em .6em; border-radius: .35em; color: inherit; text-decoration: none; }
  a:hover, [aria-selected=true] a { background: Highlight; color: HighlightText; }
  small { display: block; opacity: .75; overflow: hidden; text-overflow: ellipsis; white-space: nowrap; }
  p { margin: 0; padding: .4em .6em; }
`;

class KebabSearch extends HTMLElement {
  #input;
  #list;
  #latest = 0;
  #timer;

  connectedCallback() {
    if (this.#input) return;
    const root = this.attachShadow({ mode: "open" });
    const sheet = new CSSStyleSheet();
    sheet.replaceSync(STYLE);
    root.adoptedStyleSheets = [sheet];
    this.#input = Object.assign(document.createElement("input"), { type: "search", autocomplete: "off", maxLength: 500 });
    const label = this.getAttribute("label") || "Search";
    for (const [name, value] of Object.entries({
      role: "combobox", "aria-expanded": "false", "aria-controls": "found", "aria-autocomplete": "list", "aria-label": label,
      placeholder: label,
    })) this.#input.setAttribute(name, value);
    this.#list = Object.assign(document.createElement("ul"), { id: "found", hidden: true });
    this.#list.setAttribute("role", "listbox");
    this.#list.setAttribute("aria-label", label);
    root.append(this.#input, this.#list);
    this.#input.addEventListener("input", () => this.#searchSoon());
    this.#input.addEventListener("keydown", (event) => this.#onKey(event));
    this.addEventListener("focusout", (event) => { if (!this.contains(event.relatedTarget)) this.#close(); });
  }

  #searchSoon() {
    clearTimeout(this.#timer);
    this.#timer = setTimeout(() => this.#search(), WAIT_MS);
  }

  async #search() {
    const q = this.#input.value.trim();
    const number = ++this.#latest;
    if (!q) return this.#close();
    const address = `${server}/api/v1/workspaces/${encodeURIComponent(this.getAttribute("workspace"))}/search`;
    const fields = ["title", "doc_id", "doc_path", "section_label", "snippet", "citation"];
    const body = JSON.stringify({ q, group: "document", prefix: true, floor: true, k: 8, snippet_chars: 120, fields });
    const headers = { Authorization: `Bearer ${this.getAttribute("token")}`, "Content-Type": "application/json" };
    let message = "", hits = [];
    try {
      const response = await fetch(address, { method: "POST", headers, body, credentials: "omit" });
      const answer = await response.json();
      if (response.ok) hits = answer.hits;
      else message = answer.detail || answer.title;
      if (response.ok && !hits.length) message = this.getAttribute("nothing") || "Nothing was found.";
    } catch {
      message = this.getAttribute("failed") || "The search can’t be reached right now.";
    }
    if (number === this.#latest) this.#show(hits, message);
  }

  #show(hits, message) {
    this.#list.replaceChildren(...hits.map((hit, number) => {
      const option = Object.assign(document.createElement("li"), { id: `hit-${number}` });
      option.setAttribute("role", "option");
      const link = Object.assign(document.createElement("a"), { href: this.#address(hit), tabIndex: -1 });
      const place = Object.assign(document.createElement("small"), { textContent: hit.snippet });
      link.append(hit.section_label && hit.section_label !== hit.title ? `${hit.title} › ${hit.section_label}` : hit.title, place);
      option.append(link);
      return option;
    }));
    if (message) {
      const note = Object.assign(document.createElement("li"), {});
      note.setAttribute("role", "presentation");
      note.append(Object.assign(document.createElement("p"), { textContent: message }));
      this.#list.append(note);
    }
    this.#list.hidden = false;
    this.#input.setAttribute("aria-expanded", "true");
    this.#select(-1);
  }

  #address(hit) {
    const pattern = this.getAttribute("href");
    if (!pattern) {
      const workspace = encodeURIComponent(this.getAttribute("workspace"));
      return `${server}/w/${workspace}/documents/${hit.doc_id}`;
    }
    const path = hit.doc_path.split("/").map(encodeURIComponent).join("/");
    const anchor = (hit.section_label || "").toLowerCase().replace(/[^\p{L}\p{N} -]/gu, "").trim().replace(/ +/g, "-");
    const values = { path, page: path.replace(/(?:\/?index)?\.\w+$/, ""), anchor: encodeURIComponent(anchor) };
    const address = pattern.replace(/\{(path|page|anchor)\}/g, (_, name) => values[name]).replace(/#$/, "");
    return /^https?:|^[/#?]/.test(address) ? address : "#";
  }

  #options() {
    return [...this.#list.querySelectorAll("[role=option]")];
  }

  #select(number) {
    this.#options().forEach((option, place) => option.setAttribute("aria-selected", String(place === number)));
    const chosen = this.#options()[number];
    if (chosen) {
      this.#input.setAttribute("aria-activedescendant", chosen.id);
      chosen.scrollIntoView({ block: "nearest" });
    } else this.#input.removeAttribute("aria-activedescendant");
  }

  #onKey(event) {
    const options = this.#options();
    const at = options.findIndex((option) => option.getAttribute("aria-selected") === "true");
    if (event.key === "Escape") this.#close();
    else if (event.key === "ArrowDown" && options.length) this.#select((at + 1) % options.length);
    else if (event.key === "ArrowUp" && options.length) this.#select((at - 1 + options.length) % options.length);
    else if (event.key === "Enter" && options.length) options[Math.max(at, 0)].querySelector("a").click();
    else return;
    event.preventDefault();
  }

  #close() {
    this.#list.hidden = true;
    this.#input.setAttribute("aria-expanded", "false");
    this.#input.removeAttribute("aria-activedescendant");
  }
}

customElements.define("kebab-search", KebabSearch);
