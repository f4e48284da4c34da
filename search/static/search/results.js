// Keeps the addresses of the results when one of them is opened, so that its page leads to those before and after it.
for (const kind of ["click", "auxclick"]) {
  document.addEventListener(kind, (event) => {
    if (!event.target.closest("[data-result] a[href]")) return;
    const links = document.querySelectorAll("[data-result] h2 a[href]");
    sessionStorage.setItem("kebab-results", JSON.stringify([...links].map((link) => link.getAttribute("href")).slice(0, 200)));
  });
}
