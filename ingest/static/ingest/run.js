// Follows a run by its progress on the server, and reloads the page, with its figures, when the run has ended.
const standing = document.querySelector("[data-run]");
const EVERY_MS = 2_000;

if (standing) setTimeout(follow, EVERY_MS);

async function follow() {
  const response = await fetch(standing.dataset.run, { headers: { "HX-Request": "true" } }).catch(() => null);
  // After logging out, or without the run: what is shown may be read on.
  const isLoggedOut = response?.headers.has("HX-Refresh");
  if (isLoggedOut || (response && response.status >= 400 && response.status < 500)) return;
  if (response?.ok) show(await response.text());
  setTimeout(follow, EVERY_MS);
}

function show(text) {
  const found = new DOMParser().parseFromString(text, "text/html").body;
  if (found.textContent.trim() === standing.textContent.trim()) return;
  standing.replaceChildren(...found.childNodes);
  if (!standing.querySelector(".busy")) location.reload();
}
