// The search page by keyboard: arrows move through the hits, Escape goes back to the box. What was typed is
// searched for by htmx; here is what becomes of answers that aren't hits, and how a citation is copied.
const box = document.querySelector("[data-search-box]");
const form = box.closest("form");
const undone = document.getElementById("undone");
const filters = document.getElementById("filters");
const filterLists = document.getElementById("filter-lists");

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

// What is told when it could not be done, by what a request was for.
const UNDONE = {
  hits: "The hits could not be fetched; those shown may be of an earlier query. Check the connection, then press Enter to search again.",
  counts: "The filters could not be counted.",
  vote: "Your vote was not kept. Reload the page and vote again.",
};
const purpose = ({ detail: { requestConfig: { elt } } }) => {
  if (elt.matches(".vote")) return "vote";
  return elt.matches("[data-counts]") ? "counts" : "hits";
};

// A refused search is told where the hits would stand. Another page is opened.
document.addEventListener("htmx:beforeSwap", (event) => {
  const { xhr, requestConfig } = event.detail;
  if (purpose(event) !== "counts") undone.hidden = true;
  if (new URL(xhr.responseURL).pathname !== new URL(requestConfig.path, location.href).pathname) {
    event.detail.shouldSwap = false;
    form.requestSubmit();
  } else if (xhr.getResponseHeader("HX-Replace-Url") || xhr.getResponseHeader("HX-Reswap")) {
    event.detail.shouldSwap = true;
    event.detail.isError = false;
  }
  // Counts that are still under way are those of the query before.
  if (requestConfig.elt === box) htmx.trigger(filters, "htmx:abort");
});

for (const failure of ["htmx:responseError", "htmx:sendError", "htmx:timeout"]) {
  document.addEventListener(failure, (event) => {
    if (purpose(event) === "counts") filterLists.replaceChildren();
    undone.textContent = UNDONE[purpose(event)];
    undone.hidden = false;
  });
}

// Filters are of a search: without one there is nothing to open; and what is wrong with it is said of the box.
document.addEventListener("htmx:afterSettle", () => {
  filters.hidden = !filterLists.childElementCount;
  if (document.getElementById("problem")) {
    box.setAttribute("aria-invalid", "true");
    box.setAttribute("aria-describedby", "problem");
  } else {
    box.removeAttribute("aria-invalid");
    box.removeAttribute("aria-describedby");
  }
});

// A request that the next key made needless is no error, which htmx would write onto the console.
htmx.logger = (element, name, detail) => {
  if (name === "htmx:sendAbort" || name === "htmx:afterRequest") delete detail.error;
};

// The way to more hits is gone with the click: the focus goes on to the first of them.
let shownBefore = 0;
document.addEventListener("htmx:beforeRequest", (event) => {
  if (event.target.closest("#more")) shownBefore = hitLinks().length;
});
document.addEventListener("htmx:afterSettle", (event) => {
  if (!shownBefore || !event.target.closest(".hits")) return;
  const links = hitLinks();
  focusHit(links[Math.min(shownBefore, links.length - 1)]);
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
