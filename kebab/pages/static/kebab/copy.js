// [data-copy="id"] copies the value or the text of the element with that id; [data-copy-link="/path"] copies that address.
// Either says that it is done beside the button, in the words of `data-copied` of the page.
const words = document.body.dataset;

const announce = (button, text) => {
  let said = button.nextElementSibling;
  if (!said?.matches("[data-said]")) {
    said = document.createElement("span");
    said.dataset.said = "";
    said.className = "said";
    said.setAttribute("role", "status");
    button.after(said);
  }
  said.textContent = "";
  requestAnimationFrame(() => { said.textContent = text; });
  setTimeout(() => { said.textContent = ""; }, 2500);
};

// Pages served over http have no clipboard interface; a selection can be copied all the same.
const copySelected = (text, field) => {
  const box = field ?? document.createElement("textarea");
  if (!field) {
    box.value = text;
    box.setAttribute("aria-hidden", "true");
    document.body.append(box);
  }
  box.focus();
  box.select();
  const isDone = document.execCommand("copy");
  if (!field) box.remove();
  return isDone;
};

const copy = async (text, field) => {
  try {
    await navigator.clipboard.writeText(text);
    return true;
  } catch {
    return copySelected(text, field);
  }
};

// The link of the result that the button belongs to.
const linkBeside = (button) => button.closest("article").querySelector("h2 a").href;

document.addEventListener("click", async (event) => {
  const button = event.target.closest("[data-copy], [data-copy-link]");
  if (!button) return;
  const source = button.dataset.copy && document.getElementById(button.dataset.copy);
  const field = source?.matches("input, textarea") ? source : null;
  const text = source ? field?.value ?? source.textContent : new URL(button.dataset.copyLink || linkBeside(button), location.href).href;
  const isDone = await copy(text, field);
  if (isDone) button.focus();
  announce(button, isDone ? words.copied : words.copyByHand);
});
