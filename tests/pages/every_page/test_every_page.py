"""Every page in both widths and themes: accessible, complete, and reachable by Tab."""

import pytest

from tests.pages.every_page.registry import PAGES
from tests.pages.every_page.visit import open_page_of, visit
from tests.support.browser import needs_browser

pytestmark = [*needs_browser, pytest.mark.django_db]
_CORE = [entry for entry in PAGES if entry.is_core and not entry.opens]


@pytest.mark.parametrize("entry", PAGES, ids=lambda entry: entry.label)
def test_page_is_accessible_and_logs_no_errors(browser, server, ground, entry, subtests):
    found = visit(browser, server, ground, entry)

    with subtests.test("shows what it is for"):
        assert (found.status, found.is_shown) == (entry.status, True)
    for aspect in ("violations", "overflow", "complaints", "keyboard"):
        with subtests.test(aspect):
            lines = getattr(found, aspect)
            assert not lines, "\n".join(lines)


def test_core_pages_work_without_javascript(browser, server, ground, subtests):
    for entry in _CORE:
        with (
            subtests.test(page=entry.label),
            open_page_of(browser, server, ground, entry, java_script_enabled=False) as page,
        ):
            page.goto(entry.address(ground))

            assert page.locator(entry.shows).first.is_visible()
