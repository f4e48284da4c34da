// "/" goes to the search box, Escape leaves it: all that the pages need of JavaScript.
document.addEventListener("keydown", (event) => {
  const box = document.querySelector("[data-search-box]");
  if (!box || event.ctrlKey || event.metaKey || event.altKey) return;
  const isTyping = event.target.closest("input, textarea, select, [contenteditable]");
  if (event.key === "/" && !isTyping) {
    event.preventDefault();
    box.focus();
    box.select();
  } else if (event.key === "Escape" && event.target === box) {
    box.blur();
  }
});
