// The box: Enter asks. The passage that a marker leads to opens beside its answer.
const box = document.querySelector("#question");

if (box) {
  box.addEventListener("keydown", (event) => {
    if (event.key !== "Enter" || event.shiftKey || event.isComposing) return;
    event.preventDefault();
    box.form.requestSubmit();
  });
}

// The passage that is open already isn't asked for again. What comes after its passage was closed, or another was
// asked for, is dropped.
document.addEventListener("htmx:beforeRequest", (event) => {
  const beside = event.detail.target;
  if (!beside.matches(".beside")) return;
  const link = event.detail.elt;
  const isOpen = link.getAttribute("hx-get").endsWith(`/${beside.querySelector(".opened")?.dataset.n}`);
  beside.asked = isOpen ? null : link;
  if (!isOpen) return;
  event.preventDefault();
  show(beside, link);
});

document.addEventListener("htmx:beforeSwap", (event) => {
  const beside = event.detail.target;
  if (beside.matches(".beside") && beside.asked !== event.detail.requestConfig.elt) event.detail.shouldSwap = false;
});

document.addEventListener("htmx:afterSwap", (event) => {
  const beside = event.detail.target;
  if (beside.matches(".sources-part")) tellChecks(event.detail.elt);
  if (!beside.matches(".beside")) return;
  show(beside, event.detail.requestConfig.elt);
});

document.addEventListener("click", (event) => {
  if (event.target.closest(".marker[hx-get]")) event.preventDefault(); // htmx lets go of addresses within the page
  const next = event.target.closest("[data-ask]");
  if (next && box) {
    event.preventDefault();
    box.value = next.dataset.ask;
    box.form.requestSubmit();
  }
  if (event.target.closest("[data-close]")) close(event.target.closest(".beside"));
});

document.addEventListener("keydown", (event) => {
  const beside = event.target.closest?.(".beside");
  if (event.key === "Escape" && beside) close(beside);
});

function tellChecks(section) {
  const states = [...section.querySelectorAll(".check .state")].map((state, at) => `${at + 1}: ${state.textContent}`);
  document.querySelector("[data-announced]").textContent = states.join(". ");
}

function show(beside, opener) {
  beside.opener = opener;
  mark(beside.closest(".turn"), opener);
  const heading = beside.querySelector("h2");
  beside.scrollTop = 0;
  heading.focus({ preventScroll: true });
  const place = heading.getBoundingClientRect();
  if (place.top < 0 || place.bottom > innerHeight) beside.querySelector(".opened").scrollIntoView({ block: "start" });
}

function close(beside) {
  const turn = beside.closest(".turn");
  beside.asked = null;
  beside.replaceChildren();
  mark(turn, null);
  (beside.opener ?? turn.querySelector(".marker"))?.focus();
}

function mark(turn, link) {
  for (const marker of turn.querySelectorAll(".marker")) {
    if (link && marker.getAttribute("hx-get") === link.getAttribute("hx-get")) marker.setAttribute("aria-current", "true");
    else marker.removeAttribute("aria-current");
  }
}
