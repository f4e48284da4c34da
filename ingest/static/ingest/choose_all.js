// Shows a checkbox that chooses all rows of the form.
const form = document.querySelector("[data-choose-all]");
const all = form?.querySelector("[data-all]");
if (all) {
  all.hidden = false;
  all.addEventListener("change", () => {
    for (const box of form.querySelectorAll("[name=document]")) box.checked = all.checked;
  });
}
