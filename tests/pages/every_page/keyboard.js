// Numbers what a person must reach with Tab, and writes down what was reached and whether that could be seen.
() => {
  const named = "a[href], button, input:not([type=hidden]), select, textarea, summary, [tabindex='0'], [contenteditable=true]";
  // Arrows move within a radio group; Tab reaches one of it.
  const seen = new Set();
  const isFirst = (element) => {
    if (element.type !== "radio") return true;
    const group = `${element.form?.id}/${element.name}`;
    const isNew = !seen.has(group);
    seen.add(group);
    return isNew;
  };
  const stops = [...document.querySelectorAll(named)].filter(
    (element) => !element.disabled && element.tabIndex >= 0 && element.checkVisibility({ visibilityProperty: true }) && !element.closest("[inert]") && isFirst(element),
  );
  const reached = new Set();
  const unseen = [];
  const ring = (element) => {
    const style = getComputedStyle(element);
    return (style.outlineStyle !== "none" && parseFloat(style.outlineWidth) > 0) || style.boxShadow !== "none";
  };
  document.addEventListener("focusin", ({ target }) => {
    reached.add(target.type === "radio" ? `${target.form?.id}/${target.name}` : target);
    const shown = [target, ...(target.labels ?? [])];
    if (target.tabIndex >= 0 && !shown.some(ring)) unseen.push(target);
    const box = target.getBoundingClientRect();
    if (target.tabIndex >= 0 && (box.bottom <= 0 || box.top >= innerHeight)) unseen.push(target);
  });
  // From the top, whatever the page has focused by itself.
  document.activeElement?.blur?.();
  document.body.tabIndex = -1;
  document.body.focus({ preventScroll: true });
  document.body.removeAttribute("tabindex");
  getSelection()?.removeAllRanges();
  window.__unreached = () => [
    ...stops
      .filter((element) => element.isConnected && !reached.has(element.type === "radio" ? `${element.form?.id}/${element.name}` : element))
      .map((element) => `not reached: ${element.outerHTML.slice(0, 160)}`),
    ...new Set(unseen.map((element) => `focus can't be seen: ${element.outerHTML.slice(0, 160)}`)),
  ];
  return stops.length;
}
