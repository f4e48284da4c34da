"""A real Chromium, and pages that remember everything that ought not to happen."""

from dataclasses import dataclass, field

import pytest

from tests.security.xss.hostile import MARK
from tests.support.browser import session_cookie

# Runs before all else: a policy that stops what was injected has not kept it from being injected.
_WATCH = """
window.__violations = [];
document.addEventListener("securitypolicyviolation", event => window.__violations.push(
    `${event.violatedDirective} ${event.blockedURI} ${event.sourceFile} ${event.sample}`));
"""
# Addresses that would run when somebody follows them, and handlers that came with the text.
_DORMANT = """
() => [...document.querySelectorAll("*")].flatMap(element => [...element.attributes]
    .filter(attribute => /^(on|x-|:|@)/i.test(attribute.name) && attribute.value.includes("MARK")
        || /^(href|src|action|formaction|xlink:href|data|srcdoc)$/i.test(attribute.name)
        && /^\\s*(javascript|vbscript|data:text.html)/i.test(attribute.value))
    .map(attribute => `${element.tagName} ${attribute.name}=${attribute.value}`))
""".replace("MARK", MARK)


@dataclass
class Watched:
    """A page of the browser with what went wrong on it."""

    page: object
    url: str
    faults: list[str] = field(default_factory=list)
    #: Addresses that were not answered with a page of their own.
    refused: list[str] = field(default_factory=list)

    def visit(self, path: str) -> str:
        """Open an address, note what ran or would run, and give the text that stands there."""
        response = self.page.goto(path)
        self.page.wait_for_load_state("load")
        if response is not None and response.status >= 400:
            self.refused.append(f"{path}: {response.status}")
        found = {
            "ran": self.page.evaluate(f"window.{MARK}"),
            "stopped": self.page.evaluate("window.__violations"),
            "dormant": self.page.evaluate(_DORMANT),
            "failed": response.status if response is not None and response.status >= 500 else None,
        }
        self.faults += [f"{path}: {name} {value}" for name, value in found.items() if value]
        return self.page.evaluate("document.documentElement.textContent + document.title")


@pytest.fixture
def watched(browser, live_server):
    """Gives watched pages, each of a browser of its own."""
    contexts = []

    def open_(person=None):
        context = browser.new_context(base_url=live_server.url)
        contexts.append(context)
        context.add_init_script(_WATCH)
        if person is not None:
            context.add_cookies([session_cookie(person, live_server.url)])
        found = Watched(page=context.new_page(), url=live_server.url)
        found.page.set_default_timeout(15_000)
        found.page.on("dialog", lambda dialog: (found.faults.append(dialog.message), dialog.dismiss()))
        found.page.on(
            "request",
            lambda asked: asked.url.startswith((live_server.url, "data:")) or found.faults.append(asked.url),
        )
        return found

    yield open_
    for context in contexts:
        context.close()
