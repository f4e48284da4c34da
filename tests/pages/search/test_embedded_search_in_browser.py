"""The search box that pages of other sites load."""

import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import pytest
from playwright.sync_api import expect

from kebab.identity.tokens import mint_token
from tests.pages.search.shelf import shelve
from tests.support.browser import needs_browser
from tests.support.corpus import chunk

pytestmark = [*needs_browser, pytest.mark.django_db(transaction=True)]

POLICY = "default-src 'none'; script-src {server}; connect-src {server}"


@pytest.fixture
def site(live_server, workspace):
    """Serve a page of another origin with the box, under a strict policy; return its address."""
    secret = mint_token(workspace, scopes=["search"])[1]
    href = "/docs/{page}#{anchor}"
    page = f"""<!doctype html><html lang="en"><title>Docs</title>
        <script src="{live_server.url}/static/search/embed.js" defer></script>
        <h1>Docs</h1><kebab-search workspace="handbook" token="{secret}" href="{href}"></kebab-search>"""

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self):
            body = page.encode()
            self.send_response(200)
            self.send_header("Content-Type", "text/html; charset=utf-8")
            self.send_header("Content-Length", str(len(body)))
            self.send_header("Content-Security-Policy", POLICY.format(server=live_server.url))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, *args):
            pass

    with ThreadingHTTPServer(("127.0.0.1", 0), Handler) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        yield f"http://127.0.0.1:{server.server_port}"
        server.shutdown()


@pytest.fixture
def page(browser, live_server):
    page = browser.new_page()
    yield page
    page.close()


def allow(workspace, origins):
    workspace.settings = {"allowed_origins": origins}
    workspace.save(update_fields=["settings"])


def test_results_are_found_and_opened_with_the_keyboard(page, site, workspace, mirrors, blobs):
    allow(workspace, site)
    section = chunk("Thirty days of annual leave.", heading="Annual leave")
    shelve(workspace, "guides/leave.md", "Thirty days.\n", title="Leave", passages=[section])
    page.goto(site)
    box = page.get_by_role("combobox", name="Search")
    box.press_sequentially("annual")
    option = page.get_by_role("option").first
    expect(option).to_contain_text("Leave › Annual leave")
    expect(box).to_have_attribute("aria-expanded", "true")
    box.press("ArrowDown")
    expect(option).to_have_attribute("aria-selected", "true")
    box.press("Enter")
    page.wait_for_url("**/docs/guides/leave#annual-leave")


def test_embedded_search_shows_no_results_and_refusals(page, site, workspace, mirrors, blobs):
    allow(workspace, site)
    page.goto(site)
    box = page.get_by_role("combobox", name="Search")
    box.press_sequentially("zzyzx")
    expect(page.get_by_text("Nothing was found.")).to_be_visible()
    box.press("Escape")
    expect(page.get_by_text("Nothing was found.")).to_be_hidden()
    allow(workspace, "https://elsewhere.example")
    box.press_sequentially("q")
    expect(page.get_by_text("The search can’t be reached right now.")).to_be_visible()
