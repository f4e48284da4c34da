"""Every page, wide and narrow, light and dark: accessible, whole, quiet, all of it within reach of Tab."""

import pytest

from tests.pages.every_page.registry import PAGES
from tests.pages.every_page.visiting import opened
from tests.support.browsing import needs_browser

pytestmark = [*needs_browser, pytest.mark.django_db]
each_page = pytest.mark.parametrize("entry", PAGES, ids=lambda entry: entry.label)
each_core_page = pytest.mark.parametrize(
    "entry", [entry for entry in PAGES if entry.is_core and not entry.opens], ids=lambda entry: entry.label
)


@each_page
def test_a_page_shows_what_it_is_for(visited, entry):
    found = visited(entry)

    assert (found.status, found.is_shown) == (entry.status, True)


@each_page
def test_axe_finds_nothing_wrong(visited, entry):
    assert not visited(entry).violations, "\n".join(visited(entry).violations)


@each_page
def test_nothing_sticks_out_of_the_window(visited, entry):
    assert not visited(entry).overflow, "\n".join(visited(entry).overflow)


@each_page
def test_the_console_is_silent_and_no_request_fails_or_leaves(visited, entry):
    assert not visited(entry).complaints, "\n".join(visited(entry).complaints)


@each_page
def test_tab_reaches_everything_and_focus_is_seen(visited, entry):
    assert not visited(entry).keyboard, "\n".join(visited(entry).keyboard)


@each_core_page
def test_a_core_page_is_whole_without_javascript(browser, server, ground, entry):
    with opened(browser, server, ground, entry, java_script_enabled=False) as page:
        page.goto(entry.address(ground))

        assert page.locator(entry.shows).first.is_visible()
