"""A visit finds and names defects of a page."""

from tests.pages.every_page.visit import overflow, unreached_elements, violations
from tests.support.browser import listen, needs_browser

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


def test_console_failures_and_foreign_requests_are_written_down(browser):
    page, complaints = browser.new_context().new_page(), []
    listen(page, _OURS, complaints)
    policy = {"Content-Security-Policy": "default-src 'self'; connect-src *"}
    page.route("**/*", lambda route: route.abort("connectionrefused"))
    page.route(f"{_OURS}/", lambda route: route.fulfill(body=_LOUD, content_type="text/html", headers=policy))
    page.route("**/loud.js", lambda route: route.fulfill(body=_SCRIPT, content_type="text/javascript"))
    page.goto(f"{_OURS}/", wait_until="networkidle")
    page.context.close()

    assert {
        "error: it broke",
        "warning: it will break",
        "error: nobody catches it",
        "failed: http://ours.example/gone",
        "asked of others: http://others.example/",
    } <= set(complaints)
    assert any("Content Security Policy" in line for line in complaints)
    assert not any("/left" in line for line in complaints)  # the page itself leaves this request


def test_pale_text_width_and_unreachable_focus_are_named(browser):
    page = browser.new_context(viewport={"width": 390, "height": 844}).new_page()
    page.set_content(_WRONG)
    (pale,) = violations(page)
    page.evaluate(_TRAP)
    trapped, broad = unreached_elements(page), overflow(page)
    page.context.close()

    assert pale.startswith('color-contrast (serious): <p class="pale">')
    assert any("broad" in line for line in broad)
    assert [line.partition(":")[0] for line in trapped] == ["not reached", "focus can't be seen"]
