// The search page by keyboard: ↑ and ↓ move through the results, space and → show the cited place of one beside them, → and ←
// move through what a result has, Escape closes the preview, then goes back to the box. What is typed is searched for by htmx; here is what becomes of answers that aren't results.
const box = document.querySelector("[data-search-box]");
const form = box.closest("form");
const undone = document.getElementById("undone");
const filters = document.getElementById("filters");
const filterLists = document.getElementById("filter-lists");

const resultLinks = () => [...document.querySelectorAll("[data-result] h2 a")];
const within = (result) => [...result.querySelectorAll("a, button, summary")].filter((each) => !each.closest(".menu-list"));

function focusResult(link) {
  link.focus({ preventScroll: true });
  link.closest("[data-result]").scrollIntoView({ block: "nearest" });
  if (!preview.hidden) showPreview(link.closest("[data-result]"));
}

// The preview follows the focus; only the latest of several is shown.
const preview = document.getElementById("preview");
let coming = new AbortController();

async function showPreview(result) {
  const address = new URL(result.querySelector("h2 a").href);
  address.pathname += "/chunks";
  closePreview();
  preview.hidden = false;
  const { signal } = (coming = new AbortController());
  try {
    const answer = await fetch(address, { headers: { "HX-Request": "true" }, signal });
    if (answer.headers.get("HX-Refresh") === "true") return form.requestSubmit();
    if (!answer.ok) throw new Error(answer.statusText);
    preview.innerHTML = await answer.text();
    preview.scrollTop = preview.querySelector(".here").offsetTop - 80;
  } catch {
    if (signal.aborted) return;
    closePreview();
    report("results");
  }
}

function closePreview() {
  coming.abort();
  preview.hidden = true;
}

document.addEventListener("click", (event) => {
  if (event.target.closest("[data-close]")) closePreview();
  const opener = event.target.closest("[data-preview]");
  if (opener) showPreview(opener.closest("[data-result]"));
});
box.addEventListener("input", closePreview);

// A result is one stop of the Tab key; what is in it is reached by → and ←.
function keepOneStop() {
  for (const result of document.querySelectorAll("[data-result]")) {
    for (const each of within(result).slice(1)) each.tabIndex = -1;
  }
}
keepOneStop();

const STEPS = { ArrowDown: 1, ArrowUp: -1 };
const SIDESTEPS = { ArrowRight: 1, ArrowLeft: -1 };

document.addEventListener("keydown", (event) => {
  if (event.ctrlKey || event.metaKey || event.altKey || event.shiftKey || event.isComposing) return;
  const result = event.target.closest("[data-result]");
  const links = resultLinks();
  const step = STEPS[event.key];
  if (step && (result || event.target === box)) {
    const next = event.target === box ? (step < 0 ? -2 : 0) : links.indexOf(result.querySelector("h2 a")) + step;
    if (next < -1) return;
    event.preventDefault();
    if (next < 0) box.focus();
    else if (next < links.length) focusResult(links[next]);
  } else if (event.target.matches("[data-result] h2 a") && (event.key === " " || (event.key === "ArrowRight" && preview.hidden))) {
    event.preventDefault();
    if (preview.hidden) showPreview(result);
    else closePreview();
  } else if (event.key === "Escape" && !event.defaultPrevented && !preview.hidden && event.target !== box) {
    event.preventDefault();
    closePreview();
    if (!result) resultLinks()[0]?.focus();
  } else if (SIDESTEPS[event.key] && result) {
    const parts = within(result).filter((each) => each.checkVisibility());
    const next = parts[parts.indexOf(event.target) + SIDESTEPS[event.key]];
    if (!next) return;
    event.preventDefault();
    next.focus();
  } else if (event.key === "Escape" && !event.defaultPrevented && event.target.closest("#found")) {
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

const isCounting = ({ detail: { requestConfig: { elt } } }) => elt.matches("[data-counts]");
const isAnswering = ({ detail: { requestConfig: { elt } } }) => elt.matches("[data-answer]");
const report = (what) => {
  undone.textContent = undone.dataset[what];
  undone.hidden = false;
};

// A refused search is told where the results would stand. Another page is opened.
document.addEventListener("htmx:beforeSwap", (event) => {
  const { xhr, requestConfig } = event.detail;
  if (isAnswering(event)) return;
  if (!isCounting(event)) undone.hidden = true;
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
    // Without the answer there are still the results.
    if (isAnswering(event)) return;
    if (isCounting(event)) filterLists.replaceChildren();
    report(isCounting(event) ? "counts" : "results");
  });
}

// Filters are of a search: without one there is nothing to open; and what is wrong with it is said of the box.
document.addEventListener("htmx:afterSettle", () => {
  keepOneStop();
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

// The link to more results is gone with the click: the focus goes on to the first of them.
let shownBefore = 0;
document.addEventListener("htmx:beforeRequest", (event) => {
  if (event.target.closest("#more")) shownBefore = resultLinks().length;
});
document.addEventListener("htmx:afterSettle", (event) => {
  if (!shownBefore || !event.target.closest(".results")) return;
  const links = resultLinks();
  focusResult(links[Math.min(shownBefore, links.length - 1)]);
  shownBefore = 0;
});

// Feedback is sent in the background.
document.addEventListener("submit", async (event) => {
  if (event.target.id !== "vote") return;
  event.preventDefault();
  const { submitter, target } = event;
  try {
    const answer = await fetch(submitter.formAction, { method: "POST", body: new FormData(target), headers: { "HX-Request": "true" } });
    if (answer.headers.get("HX-Refresh") === "true") form.requestSubmit();
    else if (answer.status !== 204) throw new Error(answer.statusText);
  } catch {
    report("vote");
    return;
  }
  if (submitter.matches("[data-toggle]")) {
    const isSet = submitter.getAttribute("aria-pressed") === "false";
    submitter.setAttribute("aria-pressed", String(isSet));
    submitter.formAction = submitter.formAction.split("?")[0] + (isSet ? "?on=no" : "");
    return;
  }
  for (const button of submitter.closest(".result-acts").querySelectorAll("[aria-pressed]:not([data-toggle])")) {
    button.setAttribute("aria-pressed", String(button === submitter));
  }
  document.getElementById("count").textContent = target.dataset.thanks;
});

// Keeps the addresses of the results when one of them is opened, so that its page leads to those before and after it.
for (const kind of ["click", "auxclick"]) {
  document.addEventListener(kind, (event) => {
    if (!event.target.closest("[data-result] a[href]")) return;
    const links = document.querySelectorAll("[data-result] h2 a[href]");
    sessionStorage.setItem("kebab-results", JSON.stringify([...links].map((link) => link.getAttribute("href")).slice(0, 200)));
  });
}
