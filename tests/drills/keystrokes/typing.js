// Notes when each key was pressed and when hits of a query that has it were painted.
(() => {
  const keys = [];
  let sent = 0;
  document.addEventListener("input", () => keys.push({ pressed: performance.now(), painted: null }), true);
  document.addEventListener("htmx:beforeSend", (event) => {
    if (event.target.matches("[data-search-box]")) event.detail.xhr.keysSent = keys.length;
  });
  document.addEventListener("htmx:beforeSwap", (event) => { sent = event.detail.xhr.keysSent ?? sent; });
  document.addEventListener("htmx:afterSwap", (event) => {
    if (event.detail.target.id !== "found") return;
    const shown = sent;
    // The second frame begins when the first one, with the hits in it, is painted.
    requestAnimationFrame(() => requestAnimationFrame(() => {
      for (const key of keys.slice(0, shown)) key.painted ??= performance.now();
    }));
  });
  window.takeKeys = () => {
    const taken = keys.splice(0).map((key) => (key.painted === null ? null : key.painted - key.pressed));
    sent = 0;
    return taken;
  };
})();
