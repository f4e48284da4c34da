// A document's page: the outline follows the reading position, arrow keys turn pages, and the results of the search that
// led here are a step away.
{
  document.addEventListener("keydown", (event) => {
    if (event.ctrlKey || event.metaKey || event.altKey || event.shiftKey) return;
    if (event.target.closest("input, textarea, select, pre, .scroll, [contenteditable]")) return;
    const direction = { ArrowLeft: "prev", ArrowRight: "next" }[event.key];
    const link = direction && document.querySelector(`.doc-pages a[rel="${direction}"]`);
    if (!link) return;
    event.preventDefault();
    location.assign(link.href);
  });

  // A page number takes effect when it is chosen; without a script Enter does it.
  document.getElementById("page")?.addEventListener("change", (event) => event.target.form.requestSubmit());

  const links = [...document.querySelectorAll(".outline.aside a")].filter((link) => link.getAttribute("href").startsWith("#"));
  const sections = links
    .map((link) => [link, document.getElementById(decodeURIComponent(link.hash.slice(1)))])
    .filter(([, place]) => place);
  // The server marks the section of the cited place. That stays until the reader scrolls: the browser's own scrolling to the
  // place may end before it is at the top of the window.
  let isReading = false;
  for (const kind of ["wheel", "touchmove", "keydown", "pointerdown"]) {
    addEventListener(kind, () => { isReading = true; }, { passive: true });
  }

  function markSection() {
    const isAtEnd = innerHeight + scrollY >= document.documentElement.scrollHeight - 2;
    const border = isAtEnd ? innerHeight : innerHeight / 3;
    const passed = sections.filter(([, place]) => place.getBoundingClientRect().top < border);
    const current = (passed.at(-1) ?? sections[0])?.[0];
    if (!current) return;
    for (const link of document.querySelectorAll(".outline.aside a[aria-current]")) link.removeAttribute("aria-current");
    current.setAttribute("aria-current", "true");
  }

  let isMarking = false;
  addEventListener(
    "scroll",
    () => {
      if (isMarking || !isReading) return;
      isMarking = true;
      requestAnimationFrame(() => {
        isMarking = false;
        markSection();
      });
    },
    { passive: true },
  );

  // The list of results is kept by `search.js` when one of them is opened.
  const steps = document.querySelector("[data-steps]");
  const results = steps ? JSON.parse(sessionStorage.getItem("kebab-results") ?? "[]") : [];
  const at = results.findIndex((address) => new URL(address, location.href).pathname === location.pathname);
  if (at >= 0 && results.length > 1) {
    const [before, after] = [results[at - 1], results[at + 1]];
    if (before) steps.querySelector("[rel=prev]").href = before;
    if (after) steps.querySelector("[rel=next]").href = after;
    steps.querySelector("[data-step]").textContent = `${at + 1} / ${results.length}`;
    steps.hidden = false;
  }
}
