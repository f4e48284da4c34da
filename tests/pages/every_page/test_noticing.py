"""The proofs of every page can fail: what is wrong with a page is noticed and named."""

import pytest

from tests.pages.every_page.visiting import overflow, unreached, violations
from tests.support.browsing import listen, needs_browser

pytestmark = needs_browser
_WRONG = """<!doctype html><html lang="en"><title>Wrong</title><style>
  .bare { outline: none } .pale { color: #bbb } .broad { width: 3000px }</style>
<main><h1>Wrong</h1><p class="pale">Pale words.</p><a class="bare" href="#">Bare</a>
<input class="trap" aria-label="Trap"><div class="broad">Broad</div><a href="#end" id="end">End</a></main>"""
# Tab does nothing in it, so that what follows is out of reach.
_TRAP = """document.querySelector(".trap").addEventListener(
  "keydown", (event) => event.key === "Tab" && event.preventDefault())"""


_OURS = "http://ours.example"
_LOUD = """<!doctype html><title>Loud</title><script src="/loud.js"></script><p style="color: red">Red</p>"""
_SCRIPT = """console.error("it broke"); console.warn("it will break");
fetch("/gone").catch(() => null); fetch("http://others.example/").catch(() => null);
const left = new AbortController(); fetch("/left", { signal: left.signal }).catch(() => null); left.abort();
setTimeout(() => { throw new Error("nobody catches it"); });"""


@pytest.fixture
def loud(browser):
    """What is written down of a page that does all that it must not, and leaves a request."""
    page, complaints = browser.new_context().new_page(), []
    listen(page, _OURS, complaints)
    policy = {"Content-Security-Policy": "default-src 'self'; connect-src *"}
    page.route("**/*", lambda route: route.abort("connectionrefused"))
    page.route(f"{_OURS}/", lambda route: route.fulfill(body=_LOUD, content_type="text/html", headers=policy))
    page.route("**/loud.js", lambda route: route.fulfill(body=_SCRIPT, content_type="text/javascript"))
    page.goto(f"{_OURS}/", wait_until="networkidle")
    yield complaints
    page.context.close()


@pytest.mark.parametrize(
    "told",
    [
        "error: it broke",
        "warning: it will break",
        "error: nobody catches it",
        "failed: http://ours.example/gone",
        "asked of others: http://others.example/",
    ],
)
def test_what_must_not_happen_on_a_page_is_written_down(loud, told):
    assert told in loud


def test_what_the_policy_forbids_is_written_down(loud):
    assert any("Content Security Policy" in line for line in loud)


def test_a_request_that_the_page_itself_leaves_is_no_failure(loud):
    assert not any("/left" in line for line in loud)


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
