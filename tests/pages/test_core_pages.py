"""The core pages, opened once each in a real browser at the width of a phone.

`every_page` looks at all pages in the browser tier.
"""

from dataclasses import dataclass

import pytest
from django.db import connection
from django.test import override_settings
from django.utils import timezone

from ingest.models import Job
from kebab.identity.models import Membership, Role, User
from kebab.people.operator import command_line_access
from kebab.people.workspaces import delete_workspace
from kebab.tenancy.current_workspace import acting_everywhere
from search.mirror import local_mirrors
from tests.api.mcp.web_server import running_web_server
from tests.pages.every_page.visit import overflow
from tests.pages.search.shelf import index, shelve
from tests.support.actors import make_workspace
from tests.support.api import forget_acts
from tests.support.browser import browser_beside_django, listen, session_cookie, skip_without_chromium
from tests.support.stores import stores_in

pytestmark = [pytest.mark.django_db, skip_without_chromium]

_PHONE = {"width": 390, "height": 844}
# The address, and what must be seen there.
_PAGES = {
    "log in": ("/login", "main form [name=username]"),
    "home": ("/", "main .workspace-card a"),
    "search with hits": ("/w/quay/search?q=springs", "main .results article"),
    "search without hits": ("/w/quay/search?q=zzyzx&mode=lexical", "main .empty"),
    "document": ("/w/quay/documents/{doc_id}?start=3&end=3", "main .cited"),
    "ask": ("/w/quay/ask", "main textarea[name=question]"),
    "upload": ("/w/quay/upload", "main form.upload [type=file]"),
    "activity": ("/w/quay/activity", "main .activity a"),
    "people": ("/w/quay/people", "main form.role select"),
    "settings": ("/w/quay/settings", "main form [name=slug]"),
    "admin": ("/admin/", "#content .operating-figure"),
}


@dataclass(frozen=True, kw_only=True)
class ServedPages:
    """Session, address of the server, and the document in its workspace."""

    cookie: dict[str, str]
    url: str
    doc_id: str


@pytest.fixture(scope="module")
def browser():
    """Run a browser whose event loop ends with this module, as later tests use the database without one."""
    with browser_beside_django() as browser:
        yield browser


@pytest.fixture(scope="module")
def served_pages(django_db_setup, django_db_blocker, tmp_path_factory):
    root = tmp_path_factory.mktemp("core-pages")
    own = override_settings(**stores_in(root))
    with django_db_blocker.unblock(), acting_everywhere(), own, running_web_server() as url:
        spaces = [make_workspace("quay"), make_workspace("quay-annex")]
        owner = User.objects.create_superuser("olga@quay.example")
        for workspace in spaces:
            Membership.objects.create(workspace=workspace, user=owner, role=Role.OWNER)
        document = shelve(spaces[0], "ropes.md", "# Ropes\n\nA boat has two springs.\n", title="Ropes")
        index(spaces[0])
        Job.objects.create(
            workspace=spaces[0], kind="ingest_document", state="succeeded", finished_at=timezone.now()
        )
        try:
            yield ServedPages(cookie=session_cookie(owner, url), url=url, doc_id=document.doc_id.hex)
        finally:
            local_mirrors.reader_pool().close()
            for workspace in spaces:
                delete_workspace(command_line_access(workspace))
            owner.delete()
            forget_acts()
    # Threads of the server hand their connections to the pool.
    connection.close()
    connection.close_pool()


@pytest.mark.parametrize("name", _PAGES)
def test_core_page_is_whole_and_quiet_on_a_phone(browser, served_pages, name):
    address, shown = _PAGES[name]
    complaints: list[str] = []
    context = browser.new_context(base_url=served_pages.url, viewport=_PHONE)
    try:
        if name != "log in":
            context.add_cookies([served_pages.cookie])
        page = context.new_page()
        listen(page, served_pages.url, complaints)
        status = page.goto(address.format(doc_id=served_pages.doc_id), wait_until="load").status
        page.locator(shown).first.wait_for(timeout=10_000)

        assert status == 200
        assert page.locator("h1").count() >= 1
        assert page.locator("#content" if name == "admin" else "main").count() == 1
        assert overflow(page) == []
        assert complaints == []
    finally:
        context.close()
