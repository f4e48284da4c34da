"""Visits of a page in a real browser in two widths and both themes, with all defects found."""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from axe_playwright_python.sync_playwright import Axe
from django.conf import settings
from playwright.sync_api import Browser, Page
from playwright.sync_api import TimeoutError as PlaywrightTimeoutError

from tests.pages.every_page.ground import Ground
from tests.pages.every_page.registry import RegisteredPage
from tests.support.browser import listen

#: Desktop and phone, in CSS pixels.
SIZES = ({"width": 1440, "height": 900}, {"width": 390, "height": 844})
THEMES = ("light", "dark")
_KEYBOARD = (Path(__file__).parent / "keyboard.js").read_text()
# What sticks out of the window, of the elements that don't lie in something that scrolls by itself.
_OVERFLOW = """() => {
  const width = document.documentElement.clientWidth;
  if (document.documentElement.scrollWidth <= width) return [];
  const sticksOut = (each) => each.getBoundingClientRect().right > width + 1;
  const out = [...document.body.querySelectorAll("*")].filter(sticksOut).slice(0, 5);
  const told = out.map((each) => each.outerHTML.slice(0, 160));
  return [`${document.documentElement.scrollWidth} px in ${width} px`, ...told];
}"""
# What a browser says of a page that refuses.
_REFUSED = "the server responded with a status of"
_TWINS = """() => {
  const ids = [...document.querySelectorAll("[id]")].map((each) => each.id);
  return [...new Set(ids.filter((id, place) => ids.indexOf(id) < place))];
}"""
# More than any page of the ground has to reach; one that has more fails by name.
_MOST_STOPS = 500
# So many boxes that scroll take a stop, too.
_MOST_SCROLLERS = 30


@dataclass(frozen=True, kw_only=True)
class Visit:
    """Findings on a page; every line names the width or theme and the element."""

    is_shown: bool
    status: int
    complaints: Sequence[str]
    overflow: Sequence[str]
    violations: Sequence[str]
    keyboard: Sequence[str]


@contextmanager
def open_page_of(
    browser: Browser, url: str, ground: Ground, entry: RegisteredPage, **options: Any
) -> Iterator[Page]:
    """Yield a blank page in a browser of its own, logged in as the entry's role."""
    context = browser.new_context(base_url=url, **options)
    try:
        if not entry.is_public:
            session = ground.sessions[entry.opener]
            context.add_cookies([{"name": settings.SESSION_COOKIE_NAME, "value": session, "url": url}])
        page = context.new_page()
        page.set_default_timeout(15_000)
        yield page
    finally:
        context.close()


def visit(browser: Browser, url: str, ground: Ground, entry: RegisteredPage) -> Visit:
    """Open the page at both sizes, and return the findings."""
    found: dict[str, list[str]] = {"complaints": [], "overflow": [], "violations": [], "keyboard": []}
    is_shown, status = True, entry.status
    for size in SIZES:
        with open_page_of(browser, url, ground, entry, viewport=size) as page:
            messages: list[str] = []
            listen(
                page, url, messages, is_own=lambda message: entry.status >= 400 and _REFUSED in message.text
            )
            status = turn_to(page, ground, entry)
            is_shown = is_shown and _is_seen(page, entry.shows)
            _look(page, f"{size['width']} px", found)
            found["complaints"] += [each for each in messages if not _is_of_axe(each)]
    return Visit(is_shown=is_shown, status=status, **found)


def turn_to(page: Page, ground: Ground, entry: RegisteredPage) -> int:
    """Open the entry, and what it opens by a click; return the status of the last page."""
    statuses: list[int] = []
    page.on(
        "response", lambda answer: answer.request.is_navigation_request() and statuses.append(answer.status)
    )
    page.goto(entry.address(ground), wait_until="load")
    if entry.opens:
        # So that what is left out is told by the page and not by the browser.
        page.evaluate("for (const form of document.forms) form.noValidate = true")
        page.locator(entry.opens).first.click()
        _is_seen(page, entry.shows)
        page.wait_for_load_state("load")
    return statuses[-1] if statuses else 0


def _is_seen(page: Page, selector: str) -> bool:
    try:
        page.locator(selector).first.wait_for(timeout=30_000)
    except PlaywrightTimeoutError:
        return False
    return True


def _is_of_axe(complaint: str) -> bool:
    """Return whether the message is about axe itself, which runs in the page."""
    return complaint.startswith("warning: ") and "axe" in complaint.lower()


def _look(page: Page, width: str, found: dict[str, list[str]]) -> None:
    found["overflow"] += [f"{width}: {each}" for each in overflow(page)]
    found["keyboard"] += [f"{width}: {each}" for each in unreached_elements(page)]
    found["violations"] += [f"{width}: several elements have the id {each}" for each in page.evaluate(_TWINS)]
    for theme in THEMES:
        page.emulate_media(color_scheme=theme, reduced_motion="reduce")
        found["violations"] += [f"{width}, {theme}: {each}" for each in violations(page)]


def violations(page: Page) -> list[str]:
    """Return the violations that axe-core finds: rule, elements, explanation and help page."""
    lines = []
    for rule in Axe().run(page).response["violations"]:
        for each in rule["nodes"][:5]:
            why = " ".join(each["failureSummary"].split())
            lines.append(f"{rule['id']} ({rule['impact']}): {each['html'][:200]} | {why} | {rule['helpUrl']}")
    return lines


def overflow(page: Page) -> list[str]:
    """Return the width of the page and the elements that cause it, if it exceeds the window."""
    return page.evaluate(_OVERFLOW)


def unreached_elements(page: Page) -> list[str]:
    """Press Tab through the page; return the elements not reached, or reached without visible focus."""
    stops = page.evaluate(_KEYBOARD)
    assert stops <= _MOST_STOPS, f"{stops} links, buttons and fields: give the ground less to reach."
    for _ in range(stops + _MOST_SCROLLERS):
        page.keyboard.press("Tab")
    return page.evaluate("window.__unreached()")
