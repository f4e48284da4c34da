"""A real headless Chromium for the tests of pages; what its console complains about fails the test."""

import os
import shutil
from contextlib import contextmanager

import pytest
from django.conf import settings
from django.test import Client
from playwright.sync_api import sync_playwright

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

needs_browser = [
    pytest.mark.browser,
    pytest.mark.skipif(
        _CHROMIUM is None and os.environ.get("KEBAB_TESTS_NEED_BROWSER") != "1",
        reason="no Chromium is installed",
    ),
]


@pytest.fixture(scope="module")
def browser():
    with pytest.MonkeyPatch.context() as patch, running_browser() as browser:
        # Playwright runs an event loop in this thread, in which Django would refuse to ask the database.
        patch.setenv("DJANGO_ALLOW_ASYNC_UNSAFE", "true")
        yield browser


@contextmanager
def running_browser():
    """Run the machine's Chromium; give it."""
    assert _CHROMIUM is not None, "No Chromium is on the PATH."
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=_CHROMIUM, args=_ARGUMENTS)
        try:
            yield browser
        finally:
            browser.close()


@pytest.fixture
def open_page(browser, live_server):
    """Gives a page of a browser of its own; what its console complains about fails the test."""
    complaints, contexts = [], []

    def open_(person=None, **options):
        context = browser.new_context(base_url=live_server.url, **options)
        contexts.append(context)
        if person is not None:
            context.add_cookies([session_cookie(person, live_server.url)])
        page = context.new_page()
        page.set_default_timeout(10_000)
        page.on("console", lambda said: said.type in ("error", "warning") and complaints.append(said.text))
        page.on("pageerror", lambda error: complaints.append(str(error)))
        page.on(
            "request", lambda asked: asked.url.startswith(live_server.url) or complaints.append(asked.url)
        )
        return page

    yield open_
    for context in contexts:
        context.close()
    assert complaints == []


def session_cookie(person, url):
    client = Client()
    client.force_login(person)
    name = settings.SESSION_COOKIE_NAME
    return {"name": name, "value": client.cookies[name].value, "url": url}
