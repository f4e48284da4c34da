// [data-copy="id"] copies the value or the text of the element with that id, and says that it is done.
const announce = (button, text) => {
  let said = button.nextElementSibling;
  if (!said || !said.matches("[data-copied]")) {
    said = document.createElement("span");
    said.dataset.copied = "";
    said.setAttribute("role", "status");
    button.after(said);
  }
  said.textContent = "";
  requestAnimationFrame(() => { said.textContent = text; });
};

// Pages served over http have no clipboard interface; a selection can be copied all the same.
const copySelected = (source) => {
  const box = source.matches("input, textarea") ? source : document.createElement("textarea");
  if (box !== source) {
    box.value = source.textContent;
    box.setAttribute("aria-hidden", "true");
    source.after(box);
  }
  box.focus();
  box.select();
  const isDone = document.execCommand("copy");
  if (box !== source) box.remove();
  return isDone;
};

const copy = async (source) => {
  const text = source.matches("input, textarea") ? source.value : source.textContent;
  if (!navigator.clipboard || !window.isSecureContext) return copySelected(source);
  try {
    await navigator.clipboard.writeText(text);
    return true;
  } catch {
    return copySelected(source);
  }
};

document.addEventListener("click", async (event) => {
  const button = event.target.closest("[data-copy]");
  const source = button && document.getElementById(button.dataset.copy);
  if (!source) return;
  const isDone = await copy(source);
  if (isDone) button.focus();
  announce(button, isDone ? "Copied" : "Press Ctrl+C to copy");
});
