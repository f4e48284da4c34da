"""The proofs of every page can fail: what is wrong with a page is noticed and named."""

import pytest

from tests.browsing import needs_browser
from tests.every_page.visiting import overflow, unreached, violations

pytestmark = needs_browser
_WRONG = """<!doctype html><html lang="en"><title>Wrong</title><style>
  .bare { outline: none } .pale { color: #bbb } .broad { width: 3000px }</style>
<main><h1>Wrong</h1><p class="pale">Pale words.</p><a class="bare" href="#">Bare</a>
<input class="trap" aria-label="Trap"><div class="broad">Broad</div><a href="#end" id="end">End</a></main>"""
# Tab does nothing in it, so that what follows is out of reach.
_TRAP = """document.querySelector(".trap").addEventListener(
  "keydown", (event) => event.key === "Tab" && event.preventDefault())"""


@pytest.fixture
def wrong(browser):
    page = browser.new_context(viewport={"width": 390, "height": 844}).new_page()
    page.set_content(_WRONG)
    yield page
    page.context.close()


def test_pale_text_is_named_with_its_rule_and_the_way_to_help(wrong):
    (told,) = violations(wrong)

    assert told.startswith('color-contrast (serious): <p class="pale">')
    assert "https://dequeuniversity.com/rules/axe/" in told


def test_what_is_too_wide_is_named(wrong):
    assert any("broad" in line for line in overflow(wrong))


def test_a_trap_and_a_focus_that_is_not_shown_are_named(wrong):
    wrong.evaluate(_TRAP)
    told = unreached(wrong)

    assert [line.partition(":")[0] for line in told] == ["not reached", "focus can't be seen"]
    assert 'id="end"' in told[0]
    assert 'class="bare"' in told[1]


def test_where_all_is_reached_nothing_is_said_of_it(wrong):
    assert not any(line.startswith("not reached") for line in unreached(wrong))
