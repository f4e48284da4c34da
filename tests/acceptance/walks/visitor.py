"""A person with a browser of their own, on a stack as in production."""

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
    """A person in a browser; console messages and failed requests are recorded."""

    name: str
    url: str
    #: The workspace's, in addresses.
    slug: str
    #: The person's own folder on this machine, which sources may read.
    folder: Path
    context: BrowserContext
    page: Page = field(init=False)
    complaints: list[str] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.page = self.context.new_page()
        self.page.set_default_timeout(_PATIENCE_MS)
        self.page.on("console", self._record_console)
        self.page.on("pageerror", lambda error: self.complaints.append(f"error: {error}"))
        self.page.on(
            "request", lambda request: self._is_ours(request.url) or self._record_request(request, "foreign")
        )
        self.page.on(
            "requestfailed", lambda request: _was_aborted(request) or self._record_request(request, "failed")
        )

    @property
    def email(self) -> str:
        """Return the address to log in with."""
        return f"{self.name}@harbour.example"

    def log_in(self) -> None:
        """Log in by the form."""
        self.page.goto("/login")
        self.page.get_by_label("Email").fill(self.email)
        self.page.get_by_label("Password", exact=True).fill(PASSWORD)
        self.submit("Log in")
        expect(self.page).not_to_have_url(f"{self.url}/login")

    def open(self, address: str) -> int:
        """Open a page of the workspace, and return the status."""
        answer = self.page.goto(f"/w/{self.slug}/{address}")
        assert answer is not None
        return answer.status

    def go_by_tab(self, name: str) -> None:
        """Open the page of a tab."""
        with self.page.expect_navigation():  # until the page has loaded: Enter works once its script runs
            self._tab(name).click()
        expect(self._tab(name)).to_have_attribute("aria-current", "page")

    def _tab(self, name: str) -> Locator:
        label = self.page.get_by_text(name, exact=True)
        return self.page.locator("nav.sidebar a[href]").filter(has=label)

    def press(self, name: str) -> None:
        """Press the button of this name, which stays on the page."""
        self.page.get_by_role("button", name=name, exact=True).click()

    def submit(self, name: str) -> None:
        """Press the button of this name, which sends a form, and wait for the next page."""
        with self.page.expect_navigation():
            self.press(name)

    def follow(self, name: str) -> None:
        """Follow the link of this name to its page."""
        with self.page.expect_navigation():
            self.page.get_by_role("link", name=name, exact=True).first.click()

    def expect_message(self, text: str) -> None:
        """Expect a message with this text on the page."""
        expect(self.page.locator(".message").filter(has_text=text)).to_be_visible()

    def row(self, text: str) -> Locator:
        """Return the row of a table or list that contains a text."""
        return self.page.locator("tr, li").filter(has_text=text).first

    def reload_until(self, claim: Callable[[], bool], what: str) -> None:
        """Reload the page until a claim holds. Raises GaveUp."""

        def holds() -> bool:
            self.page.reload()
            return claim()

        eventually(holds, what, poll_s=0.5)

    @contextmanager
    def expect_status(self, status: int) -> Iterator[None]:
        """Permit console messages about this status during the block."""
        before = len(self.complaints)
        yield
        message = f"the server responded with a status of {status}"
        self.complaints[before:] = [each for each in self.complaints[before:] if message not in each]

    def _record_console(self, console_message: Any) -> None:
        if console_message.type in ("error", "warning"):
            self.complaints.append(f"{console_message.type}: {console_message.text}")

    def _is_ours(self, address: str) -> bool:
        return address.startswith((self.url, "blob:"))

    def _record_request(self, request: Any, what: str) -> None:
        self.complaints.append(f"{what}: {request.method} {request.url} {request.failure or ''}")


def _was_aborted(request: Any) -> bool:
    """Return whether the page itself aborted the request: for the next key, or because it was left."""
    return request.failure == "net::ERR_ABORTED"


@contextmanager
def open_visitor(browser: Browser, url: str, slug: str, folder: Path) -> Iterator[Visitor]:
    """Yield a person with an empty browser, named after their folder; no page is open yet."""
    context = browser.new_context(base_url=url, permissions=["clipboard-read", "clipboard-write"])
    try:
        yield Visitor(name=folder.name, url=url, slug=slug, folder=folder, context=context)
    finally:
        context.close()
