"""The consent page in a real browser, whose content policy lets the answer lead to the client."""

from contextlib import closing
from urllib.parse import parse_qs, urlsplit

import pytest

from kebab.identity.models import Membership, OAuthClient, PersonalToken, Role
from tests.support.actors import make_member, make_workspace
from tests.support.browser import needs_browser, session_cookie
from tests.support.oauth import App

pytestmark = needs_browser
# Another origin than that of the pages, which are at localhost.
_CALLBACK = "http://127.0.0.1:9/callback"


@pytest.fixture
def person(transactional_db):
    person = make_member(make_workspace("handbook"))
    Membership.objects.create(workspace=make_workspace("archive"), user=person, role=Role.VIEWER)
    return person


@pytest.mark.parametrize("answer", ["Connect", "Cancel"])
def test_answer_leads_from_the_page_to_the_client(browser, live_server, person, answer):
    row = OAuthClient.objects.create(name="Reading app", redirect_uris=[_CALLBACK])
    with closing(browser.new_context(base_url=live_server.url)) as context:
        context.add_cookies([session_cookie(person, live_server.url)])
        page = context.new_page()
        page.route(f"{_CALLBACK}?**", lambda route: route.fulfill(body="done"))
        page.goto(App(client_id=str(row.pk)).authorize_path(redirect_uri=_CALLBACK, resource=None))
        assert "Reading app" in page.locator("h1").inner_text()
        if answer == "Connect":
            page.get_by_label("Handbook").check()
        page.get_by_role("button", name=answer).click()
        page.wait_for_url(f"{_CALLBACK}?**")
        given = parse_qs(urlsplit(page.url).query)

    chosen = Membership.objects.get(user=person, workspace__slug="handbook").workspace_id
    found = list(PersonalToken.objects.values_list("workspace_ids", flat=True))
    assert ("code" in given, found) == ((True, [[chosen]]) if answer == "Connect" else (False, []))
    assert ("error" in given) is (answer == "Cancel")
