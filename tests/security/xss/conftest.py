"""A real Chromium, and pages that record what must not happen."""

from dataclasses import dataclass, field

import pytest

from tests.security.xss.hostile import MARK
from tests.support.browser import session_cookie

# Runs first, as a policy that stops injected code has not prevented its injection.
_WATCH = """
window.__violations = [];
document.addEventListener("securitypolicyviolation", event => window.__violations.push(
    `${event.violatedDirective} ${event.blockedURI} ${event.sourceFile} ${event.sample}`));
"""
# Addresses that would run when followed, and injected event handlers.
_DORMANT = """
() => [...document.querySelectorAll("*")].flatMap(element => [...element.attributes]
    .filter(attribute => /^(on|x-|:|@)/i.test(attribute.name) && attribute.value.includes("MARK")
        || /^(href|src|action|formaction|xlink:href|data|srcdoc)$/i.test(attribute.name)
        && /^\\s*(javascript|vbscript|data:text.html)/i.test(attribute.value))
    .map(attribute => `${element.tagName} ${attribute.name}=${attribute.value}`))
""".replace("MARK", MARK)


@dataclass
class WatchedPage:
    """A page of the browser, with the faults on it."""

    page: object
    url: str
    faults: list[str] = field(default_factory=list)
    #: Addresses answered with an error.
    rejected: list[str] = field(default_factory=list)

    def visit(self, path: str) -> str:
        """Open an address, record what ran or would run, and return the page's text."""
        response = self.page.goto(path)
        self.page.wait_for_load_state("load")
        if response is not None and response.status >= 400:
            self.rejected.append(f"{path}: {response.status}")
        found = {
            "ran": self.page.evaluate(f"window.{MARK}"),
            "stopped": self.page.evaluate("window.__violations"),
            "dormant": self.page.evaluate(_DORMANT),
            "failed": response.status if response is not None and response.status >= 500 else None,
        }
        self.faults += [f"{path}: {name} {value}" for name, value in found.items() if value]
        return self.page.evaluate("document.documentElement.textContent + document.title")


@pytest.fixture
def open_watched_page(browser, live_server):
    """Yield a function that opens watched pages, each in a browser context of its own."""
    contexts = []

    def open_(person=None):
        context = browser.new_context(base_url=live_server.url)
        contexts.append(context)
        context.add_init_script(_WATCH)
        if person is not None:
            context.add_cookies([session_cookie(person, live_server.url)])
        found = WatchedPage(page=context.new_page(), url=live_server.url)
        found.page.set_default_timeout(15_000)
        found.page.on("dialog", lambda dialog: (found.faults.append(dialog.message), dialog.dismiss()))
        found.page.on(
            "request",
            lambda request: (
                request.url.startswith((live_server.url, "data:")) or found.faults.append(request.url)
            ),
        )
        return found

    yield open_
    for context in contexts:
        context.close()
