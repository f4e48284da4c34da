"""A person with a browser of their own, on a stack that runs as people run it."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from playwright.sync_api import Browser, BrowserContext, Locator, Page, expect

from tests.support.stack import eventually

PASSWORD = "seven knots at dusk"
_PATIENCE_MS = 30_000


@dataclass(kw_only=True)
class Visitor:
    """Somebody in a browser; all that its console says and every request that fails is written down."""

    name: str
    url: str
    #: The workspace's, in addresses.
    slug: str
    #: On this machine, theirs alone, and one that sources may read.
    folder: Path
    context: BrowserContext
    page: Page = field(init=False)
    complaints: list[str] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.page = self.context.new_page()
        self.page.set_default_timeout(_PATIENCE_MS)
        self.page.on("console", self._hear)
        self.page.on("pageerror", lambda error: self.complaints.append(f"error: {error}"))
        self.page.on("request", lambda asked: self._is_ours(asked.url) or self._complain(asked, "foreign"))
        self.page.on("requestfailed", lambda asked: _was_left(asked) or self._complain(asked, "failed"))

    @property
    def email(self) -> str:
        """What they log in with."""
        return f"{self.name}@harbour.example"

    def log_in(self) -> None:
        """Log in by the form."""
        self.page.goto("/login")
        self.page.get_by_label("E-mail address").fill(self.email)
        self.page.get_by_label("Password").fill(PASSWORD)
        self.submit("Log in")
        expect(self.page).not_to_have_url(f"{self.url}/login")

    def open(self, address: str) -> int:
        """Open a page of the workspace; give the status that it was answered with."""
        answer = self.page.goto(f"/w/{self.slug}/{address}")
        assert answer is not None
        return answer.status

    def go_by_tab(self, name: str) -> None:
        """Open what a tab of the workspace leads to."""
        with self.page.expect_navigation():  # to its end: Enter asks once the page's script is there
            self.page.locator("nav.tabs").get_by_role("link", name=name, exact=True).click()
        expect(self.page.locator("nav.tabs [aria-current=page]")).to_have_text(name)

    def press(self, name: str) -> None:
        """Press the button of this name, which stays on the page."""
        self.page.get_by_role("button", name=name, exact=True).click()

    def submit(self, name: str) -> None:
        """Press the button of this name, which sends a form, and wait for the page that answers it."""
        with self.page.expect_navigation():
            self.press(name)

    def follow(self, name: str) -> None:
        """Follow the link of this name to its page."""
        with self.page.expect_navigation():
            self.page.get_by_role("link", name=name, exact=True).first.click()

    def is_told(self, text: str) -> None:
        """Expect that the page says so."""
        expect(self.page.locator(".message").filter(has_text=text)).to_be_visible()

    def row(self, text: str) -> Locator:
        """Return the row of a table or list that holds a text."""
        return self.page.locator("tr, li").filter(has_text=text).first

    def reload_until(self, claim: Callable[[], bool], what: str) -> None:
        """Reload the page until a claim holds of it. Raises GaveUp."""

        def holds() -> bool:
            self.page.reload()
            return claim()

        eventually(holds, what, poll_s=0.5)

    @contextmanager
    def refused(self, status: int) -> Iterator[None]:
        """Let the console say, in here, that a page was answered with this status."""
        heard = len(self.complaints)
        yield
        told = f"the server responded with a status of {status}"
        self.complaints[heard:] = [each for each in self.complaints[heard:] if told not in each]

    def _hear(self, said: Any) -> None:
        if said.type in ("error", "warning"):
            self.complaints.append(f"{said.type}: {said.text}")

    def _is_ours(self, address: str) -> bool:
        return address.startswith((self.url, "blob:"))

    def _complain(self, asked: Any, what: str) -> None:
        self.complaints.append(f"{what}: {asked.method} {asked.url} {asked.failure or ''}")


def _was_left(asked: Any) -> bool:
    """Return whether the page itself gave the request up: for the next key, or because it was left."""
    return asked.failure == "net::ERR_ABORTED"


@contextmanager
def visiting(browser: Browser, url: str, slug: str, folder: Path) -> Iterator[Visitor]:
    """Return somebody with an empty browser, who is called like their folder; nothing is open yet."""
    context = browser.new_context(base_url=url, permissions=["clipboard-read", "clipboard-write"])
    try:
        yield Visitor(name=folder.name, url=url, slug=slug, folder=folder, context=context)
    finally:
        context.close()
