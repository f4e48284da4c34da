// The search page by keyboard: arrows move through the hits, Escape goes back to the box. What was typed is
// searched for by htmx; here is what becomes of answers that aren't hits, and how a citation is copied.
const box = document.querySelector("[data-search-box]");
const form = box.closest("form");
const unreachable = document.getElementById("unreachable");

const hitLinks = () => [...document.querySelectorAll(".hit h2 a")];

function focusHit(link) {
  link.focus({ preventScroll: true });
  link.closest(".hit").scrollIntoView({ block: "nearest" });
}

// By how many hits a key moves.
const STEPS = { ArrowDown: 1, ArrowUp: -1 };

document.addEventListener("keydown", (event) => {
  if (event.ctrlKey || event.metaKey || event.altKey || event.shiftKey || event.isComposing) return;
  const links = hitLinks();
  const place = links.indexOf(event.target);
  const step = STEPS[event.key];
  if (step && (place >= 0 || event.target === box)) {
    const next = event.target === box && step < 0 ? -2 : place + step;
    if (next < -1) return;
    event.preventDefault();
    if (next < 0) box.focus();
    else if (next < links.length) focusHit(links[next]);
  } else if (event.key === "Escape" && event.target.closest("#found")) {
    box.focus();
    box.select();
  }
});

// After the session's end the search is asked for as a page, which leads to logging in and back to it.
document.addEventListener("htmx:beforeOnLoad", (event) => {
  if (event.detail.xhr.getResponseHeader("HX-Refresh") !== "true") return;
  event.preventDefault();
  form.requestSubmit();
});

// A refused search is told where the hits would stand. Another page is opened.
document.addEventListener("htmx:beforeSwap", (event) => {
  const { xhr } = event.detail;
  unreachable.hidden = true;
  if (new URL(xhr.responseURL).pathname !== new URL(event.detail.requestConfig.path, location.href).pathname) {
    event.detail.shouldSwap = false;
    form.requestSubmit();
  } else if (xhr.getResponseHeader("HX-Replace-Url") || xhr.getResponseHeader("HX-Reswap")) {
    event.detail.shouldSwap = true;
  }
});

// Filters are of a search: without one there is nothing to open.
const filters = document.getElementById("filters");
const showFilters = () => { filters.hidden = !document.querySelector("#filter-lists .facet"); };
document.addEventListener("htmx:afterSettle", showFilters);

// A request that the next key made needless is no error, which htmx would write onto the console.
htmx.logger = (element, name, detail) => {
  if (name === "htmx:sendAbort" || name === "htmx:afterRequest") delete detail.error;
};

for (const failure of ["htmx:sendError", "htmx:timeout"]) {
  document.addEventListener(failure, () => { unreachable.hidden = false; });
}

// The way to more hits is gone with the click: the focus goes on to the first of them.
let shownBefore = 0;
document.addEventListener("htmx:beforeRequest", (event) => {
  if (event.target.closest("#more")) shownBefore = hitLinks().length;
});
document.addEventListener("htmx:afterSettle", () => {
  if (shownBefore && hitLinks().length > shownBefore) focusHit(hitLinks()[shownBefore]);
  shownBefore = 0;
});

async function copied(text, shown) {
  try {
    await navigator.clipboard.writeText(text);
    return true;
  } catch {
    // Browsers give no clipboard to pages without https: then it is marked, to be copied by hand.
    getSelection().selectAllChildren(shown);
    return false;
  }
}

document.addEventListener("click", async (event) => {
  const button = event.target.closest("[data-copy]");
  if (!button) return;
  const shown = button.closest(".cite").querySelector("a");
  const isCopied = await copied(button.dataset.copy, shown);
  const said = button.querySelector("[role=status]");
  said.textContent = isCopied ? "Copied" : "Marked; copy it with Ctrl+C";
  button.dataset.said = "";
  setTimeout(() => {
    said.textContent = "";
    delete button.dataset.said;
  }, 2000);
});
