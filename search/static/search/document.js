// Arrow keys turn pages; the outline says which section is being read.
document.addEventListener("keydown", (event) => {
  if (event.ctrlKey || event.metaKey || event.altKey || event.shiftKey) return;
  if (event.target.closest("input, textarea, select, pre, .scroll, [contenteditable]")) return;
  const direction = { ArrowLeft: "prev", ArrowRight: "next" }[event.key];
  const link = direction && document.querySelector(`.paged-turns a[rel="${direction}"]`);
  if (!link) return;
  event.preventDefault();
  location.assign(link.href);
});

const links = [...document.querySelectorAll(".outline.aside a")].filter((link) => link.getAttribute("href").startsWith("#"));
const sections = links
  .map((link) => [link, document.getElementById(decodeURIComponent(link.hash.slice(1)))])
  .filter(([, place]) => place);

function markSection() {
  const passed = sections.filter(([, place]) => place.getBoundingClientRect().top < innerHeight / 3);
  const current = passed.at(-1)?.[0];
  if (!current) return;
  for (const link of document.querySelectorAll(".outline.aside a[aria-current]")) link.removeAttribute("aria-current");
  current.setAttribute("aria-current", "true");
}

let isMarking = false;
addEventListener(
  "scroll",
  () => {
    if (isMarking) return;
    isMarking = true;
    requestAnimationFrame(() => {
      isMarking = false;
      markSection();
    });
  },
  { passive: true },
);
