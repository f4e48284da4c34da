// [data-shows="id"] shows and hides the password in the field with that id; without a script there is no such button.
for (const button of document.querySelectorAll("[data-shows]")) {
  const field = document.getElementById(button.dataset.shows);
  button.hidden = false;
  button.addEventListener("click", () => {
    const isShown = field.type === "password";
    field.type = isShown ? "text" : "password";
    button.setAttribute("aria-pressed", String(isShown));
  });
  // A field of text that is sent is kept by the browser for the next time.
  field.form.addEventListener("submit", () => { field.type = "password"; });
}
