// Of more tabs than fit a phone the open one is in sight.
document.querySelector(".tabs [aria-current]")?.scrollIntoView({ block: "nearest", inline: "center" });

// "/" goes to the search box, or to the page that has it; Escape leaves it.
document.addEventListener("keydown", (event) => {
  if (event.ctrlKey || event.metaKey || event.altKey) return;
  const box = document.querySelector("[data-search-box]");
  const isTyping = event.target.closest("input, textarea, select, [contenteditable]");
  if (event.key === "/" && !isTyping) {
    const search = document.querySelector("[data-search-page]");
    if (!box && !search) return;
    event.preventDefault();
    if (box) {
      box.focus();
      box.select();
    } else {
      location.assign(search.href);
    }
  } else if (event.key === "Escape" && box && event.target === box) {
    box.blur();
  }
});
