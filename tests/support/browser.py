"""A real headless Chromium for page tests; messages on its console fail the test."""

import os
import shutil
from contextlib import contextmanager

import pytest
from django.conf import settings
from django.db import connection
from django.test import Client
from playwright.sync_api import expect, sync_playwright

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

# A page's default time limit is not that of what is expected of it.
expect.set_options(timeout=30_000)

skip_without_chromium = pytest.mark.skipif(
    _CHROMIUM is None and os.environ.get("KEBAB_TESTS_NEED_BROWSER") != "1",
    reason="no Chromium is installed",
)
needs_browser = [pytest.mark.browser, skip_without_chromium]


@pytest.fixture(scope="session")
def browser():
    with browser_beside_django() as browser:
        yield browser


@contextmanager
def browser_beside_django():
    """Run a browser in a thread that also uses the database; close the connection at the end."""
    with pytest.MonkeyPatch.context() as patch, running_browser() as browser:
        # Playwright runs an event loop in this thread, in which Django would refuse to ask the database.
        patch.setenv("DJANGO_ALLOW_ASYNC_UNSAFE", "true")
        yield browser
        # While that loop runs, Django's connection is another than the thread's: once it has ended, nobody
        # reaches it to close it.
        connection.close()


@contextmanager
def running_browser():
    """Run the machine's Chromium; yield it."""
    assert _CHROMIUM is not None, "No Chromium is on the PATH."
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=_CHROMIUM, args=_ARGUMENTS)
        try:
            yield browser
        finally:
            browser.close()


@pytest.fixture
def open_page(browser, live_server):
    """Return a function that opens a page in a browser of its own; console messages fail the test."""
    complaints, contexts = [], []

    def open_(person=None, **options):
        context = browser.new_context(base_url=live_server.url, **options)
        contexts.append(context)
        if person is not None:
            context.add_cookies([session_cookie(person, live_server.url)])
        page = context.new_page()
        page.set_default_timeout(60_000)
        listen(page, live_server.url, complaints)
        return page

    yield open_
    for context in contexts:
        context.close()
    assert complaints == []


def listen(page, url, complaints, *, is_own=lambda said: False):
    """Record console messages, failures, and requests to other addresses than `url`.

    `is_own` tells whether a message of the console is what the page was opened for.
    """

    def note_message(message):
        if message.type in ("error", "warning") and not is_own(message):
            complaints.append(f"{message.type}: {message.text}")

    page.on("console", note_message)
    page.on("pageerror", lambda error: complaints.append(f"error: {error}"))
    page.on(
        "request",
        lambda asked: asked.url.startswith(url) or complaints.append(f"asked of others: {asked.url}"),
    )
    # What a page leaves, by going on or of its own accord, is aborted.
    page.on(
        "requestfailed",
        lambda asked: asked.failure == "net::ERR_ABORTED" or complaints.append(f"failed: {asked.url}"),
    )


def session_cookie(person, url):
    client = Client()
    client.force_login(person)
    name = settings.SESSION_COOKIE_NAME
    return {"name": name, "value": client.cookies[name].value, "url": url}
