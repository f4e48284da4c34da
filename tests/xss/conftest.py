"""A real Chromium, and pages that remember everything that ought not to happen."""

import shutil
from dataclasses import dataclass, field

import pytest
from django.conf import settings
from django.test import Client

from tests.xss.hostile import MARK

_CHROMIUM = next(filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))), None)
_ARGUMENTS = [
    "--headless",
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
]
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

    def visit(self, path: str) -> str:
        """Open an address, note what ran or would run, and give the text that stands there."""
        response = self.page.goto(path)
        self.page.wait_for_load_state("load")
        found = {
            "ran": self.page.evaluate(f"window.{MARK}"),
            "stopped": self.page.evaluate("window.__violations"),
            "dormant": self.page.evaluate(_DORMANT),
            "failed": response.status if response is not None and response.status >= 500 else None,
        }
        self.faults += [f"{path}: {name} {value}" for name, value in found.items() if value]
        return self.page.evaluate("document.documentElement.textContent + document.title")


@pytest.fixture(scope="module")
def browser():
    playwright_api = pytest.importorskip("playwright.sync_api", reason="playwright is not installed")
    if _CHROMIUM is None:
        pytest.skip("no Chromium is installed")
    with pytest.MonkeyPatch.context() as patch, playwright_api.sync_playwright() as playwright:
        # Playwright runs an event loop in this thread, in which Django would refuse to ask the database.
        patch.setenv("DJANGO_ALLOW_ASYNC_UNSAFE", "true")
        browser = playwright.chromium.launch(executable_path=_CHROMIUM, args=_ARGUMENTS)
        yield browser
        browser.close()


@pytest.fixture
def watched(browser, live_server):
    """Gives watched pages, each of a browser of its own."""
    contexts = []

    def open_(person=None):
        context = browser.new_context(base_url=live_server.url)
        contexts.append(context)
        context.add_init_script(_WATCH)
        if person is not None:
            context.add_cookies([_session(person, live_server.url)])
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


def _session(person, url):
    client = Client()
    client.force_login(person)
    name = settings.SESSION_COOKIE_NAME
    return {"name": name, "value": client.cookies[name].value, "url": url}
