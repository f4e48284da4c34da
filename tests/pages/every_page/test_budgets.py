"""Bytes and time of the first visit to the search page.

Static files come compressed, pages don't (kebab/http/compression.py says why).
"""

import pytest

from tests.pages.every_page.registry import PAGES
from tests.pages.every_page.visit import open_page_of
from tests.support.browser import needs_browser

pytestmark = [*needs_browser, pytest.mark.django_db]
_BUDGET_BYTES = 90_000
# The budget is a second; a machine that runs other tests beside this one may take its time.
_GENEROUS_MS = 10_000
#: Gives when the first content was painted, in milliseconds from the request.
PAINTED = """() => new Promise((painted) => new PerformanceObserver((list) => {
  const [first] = list.getEntriesByName("first-contentful-paint");
  if (first) painted(first.startTime);
}).observe({ type: "paint", buffered: true }))"""
_SEARCH = [entry for entry in PAGES if entry.route == "search" and entry.variant in ("", "hits")]


@pytest.mark.parametrize("entry", _SEARCH, ids=lambda entry: entry.label)
def test_search_page_stays_within_size_and_paint_budgets(browser, server, ground, entry):
    with open_page_of(browser, server, ground, entry) as page:
        sizes = []
        wire = page.context.new_cdp_session(page)
        wire.send("Network.enable")
        wire.on("Network.loadingFinished", lambda answer: sizes.append(int(answer["encodedDataLength"])))
        page.goto(entry.address(ground), wait_until="networkidle")
        painted_ms = page.evaluate(PAINTED)

    print(  # noqa: T201  # the figures of this machine, with -s
        f"\n{entry.label}: {sum(sizes)} bytes in {len(sizes)} answers, first paint after {painted_ms:.0f} ms"
    )
    assert len(sizes) >= 3
    assert sum(sizes) < _BUDGET_BYTES
    assert painted_ms < _GENEROUS_MS
