"""Opens a page in a real browser at two widths and in both themes, and writes down all that can be wrong."""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from axe_playwright_python.sync_playwright import Axe
from django.conf import settings
from playwright.sync_api import Browser, Page

from tests.every_page.ground import Ground
from tests.every_page.registry import RegisteredPage

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
# More than any page of the ground has to reach; one that has more fails by name.
_MOST_STOPS = 400


@dataclass(frozen=True, kw_only=True)
class Visit:
    """What was found on a page; every line names the width or theme and the element."""

    is_shown: bool
    status: int
    complaints: Sequence[str]
    overflow: Sequence[str]
    violations: Sequence[str]
    keyboard: Sequence[str]


@contextmanager
def opened(
    browser: Browser, url: str, ground: Ground, entry: RegisteredPage, **options: Any
) -> Iterator[Page]:
    """Give a page of a browser of its own in which whoever opens the entry is logged in; nothing is open."""
    context = browser.new_context(base_url=url, **options)
    try:
        if not entry.is_public:
            session = ground.sessions[entry.need]
            context.add_cookies([{"name": settings.SESSION_COOKIE_NAME, "value": session, "url": url}])
        page = context.new_page()
        page.set_default_timeout(15_000)
        yield page
    finally:
        context.close()


def visit(browser: Browser, url: str, ground: Ground, entry: RegisteredPage) -> Visit:
    """Open the page at both sizes, and give what was found."""
    found: dict[str, list[str]] = {"complaints": [], "overflow": [], "violations": [], "keyboard": []}
    is_shown, status = True, entry.status
    for size in SIZES:
        with opened(browser, url, ground, entry, viewport=size) as page:
            listen(page, url, entry, found["complaints"])
            answer = page.goto(entry.address(ground), wait_until="load")
            status = answer.status if answer is not None else 0
            is_shown = is_shown and page.locator(entry.shows).first.is_visible()
            _look(page, f"{size['width']} px", found)
    return Visit(is_shown=is_shown, status=status, **found)


def listen(page: Page, url: str, entry: RegisteredPage, complaints: list[str]) -> None:
    """Write down what the console says, what fails, and what is asked of others."""
    own = entry.status >= 400
    page.on("pageerror", lambda error: complaints.append(f"error: {error}"))
    page.on(
        "request",
        lambda asked: asked.url.startswith(url) or complaints.append(f"asked of others: {asked.url}"),
    )
    page.on("requestfailed", lambda asked: _is_left(asked) or complaints.append(f"failed: {asked.url}"))

    def said(message: Any) -> None:
        is_own = own and "the server responded with a status of" in message.text
        if message.type in ("error", "warning") and not is_own:
            complaints.append(f"{message.type}: {message.text}")

    page.on("console", said)


def _is_left(asked: Any) -> bool:
    """Say whether it is a stream of events that went with its page."""
    return asked.resource_type == "eventsource" and asked.failure == "net::ERR_ABORTED"


def _look(page: Page, width: str, found: dict[str, list[str]]) -> None:
    heard = len(found["complaints"])
    found["overflow"] += [f"{width}: {each}" for each in overflow(page)]
    found["keyboard"] += [f"{width}: {each}" for each in unreached(page)]
    quiet = found["complaints"][:]
    for theme in THEMES:
        page.emulate_media(color_scheme=theme, reduced_motion="reduce")
        found["violations"] += [f"{width}, {theme}: {each}" for each in violations(page)]
    # axe's own warnings are none of the page's.
    found["complaints"][heard:] = quiet[heard:]


def violations(page: Page) -> list[str]:
    """Give what axe-core finds wrong: the rule, each element, what is wrong with it, and where help is."""
    told = []
    for rule in Axe().run(page).response["violations"]:
        for each in rule["nodes"][:5]:
            why = " ".join(each["failureSummary"].split())
            told.append(f"{rule['id']} ({rule['impact']}): {each['html'][:200]} | {why} | {rule['helpUrl']}")
    return told


def overflow(page: Page) -> list[str]:
    """Give how wide the page is and what makes it so, where that is more than the window."""
    return page.evaluate(_OVERFLOW)


def unreached(page: Page) -> list[str]:
    """Press Tab through all of the page; give what wasn't reached, and where focus couldn't be seen."""
    stops = page.evaluate(_KEYBOARD)
    assert stops <= _MOST_STOPS, f"{stops} links, buttons and fields: give the ground less to reach."
    for _ in range(stops + 5):  # what scrolls may take a stop, too
        page.keyboard.press("Tab")
    return page.evaluate("window.__unreached()")
