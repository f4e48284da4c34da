"""Access to pages by login, membership and workspace."""

from django.db import OperationalError
from django.urls import resolve

from kebab.identity.models import Membership, Workspace
from tests.pages.search.shelf import shelve
from tests.security.leaks.routes import routes


def document_page(workspace, document):
    return f"/w/{workspace.slug}/documents/{document.doc_id.hex}"


def test_pages_require_login(client, workspace, guide):
    pages = ["/", "/w/handbook/search?q=deploy", "/w/missing/search", document_page(workspace, guide)]

    for page in pages:
        response = client.get(page)
        assert response.status_code == 302
        assert response["Location"].startswith("/login?next=/")


def test_htmx_request_without_a_session_reloads_the_page(client, workspace):
    response = client.get("/w/handbook/activity", headers={"HX-Request": "true"})

    assert response["HX-Refresh"] == "true"
    assert response.content == b""


def test_home_lists_the_workspaces_of_the_person_alone(visitor, member, other_workspace):
    third = Workspace.objects.create(slug="third", name="<b>Third</b>")
    Membership.objects.create(workspace=third, user=member)
    page = visitor.get("/").content.decode()

    assert "Team handbook" in page
    assert "&lt;b&gt;Third&lt;/b&gt;" in page
    assert "Board papers" not in page


def test_strangers_workspace_and_document_look_like_missing_ones(visitor, workspace, other_workspace):
    document = shelve(other_workspace, "board.md", "board minutes")
    for page in ("/w/{}/search?q=board", "/w/{}/documents/{}"):
        strange = visitor.get(page.format("secrets", document.doc_id.hex))
        missing = visitor.get(page.format("missing", document.doc_id.hex))
        assert strange.status_code == missing.status_code == 404
        assert strange.content == missing.content
        assert b"secrets" not in strange.content
    foreign = visitor.get(document_page(workspace, document))
    missing = visitor.get(f"/w/handbook/documents/{'0' * 32}")

    assert foreign.status_code == missing.status_code == 404
    assert foreign.content == missing.content


def test_operator_without_membership_gets_no_page(operator_client, workspace, guide):
    assert operator_client.get("/w/handbook/search?q=deploy").status_code == 404
    assert operator_client.get(document_page(workspace, guide)).status_code == 404


def test_workspace_pages_are_found_by_slug_or_id_only(visitor, workspace):
    assert visitor.get(f"/w/{workspace.pk}/search").status_code == 200
    for slug in ("a%00b", "A", "x" * 300, "..%2F..", "%F0%9F%A5%99"):
        assert visitor.get(f"/w/{slug}/search").status_code == 404, slug


def test_a_member_whose_membership_ended_gets_no_page(visitor, workspace, member):
    Membership.objects.filter(user=member).delete()

    assert visitor.get("/w/handbook/search").status_code == 404


def test_pages_refuse_other_methods_and_forbid_caching(visitor, workspace, guide):
    for page in ["/w/handbook/search?q=deploy", document_page(workspace, guide)]:
        assert "no-store" in visitor.get(page)["Cache-Control"]
        assert visitor.post(page, {"q": "deploy"}).status_code == 405
        assert visitor.delete(page).status_code == 405


_ACTS = [route for route in routes() if route.pattern.startswith("w/") and route.methods == ("post",)]
_ID = "4ec3c1a6-0c5e-4f0a-9f0b-3d0f6a1f8a11"


def test_opened_address_of_an_act_leads_to_the_page_it_belongs_to(visitor, subtests):
    numbers = {"user_id": "1", "entry_id": "1", "n": "1"}
    numbers |= dict.fromkeys(("doc_id", "rule_id"), _ID.replace("-", ""))
    for act in _ACTS:
        with subtests.test(act=act.name):
            arguments = {name: numbers.get(name, _ID) for name in act.arguments} | {"slug": "handbook"}
            path = act.path(arguments)
            page = visitor.get(path + "?cursor=x")["Location"]

            assert page.endswith("?cursor=x")
            assert path.startswith(page.partition("?")[0] + "/")
            view = resolve(page.partition("?")[0]).func.view_class
            assert {"get", "head"} <= set(view.http_method_names)


def test_outage_is_shown_on_a_page_with_the_time_to_retry(visitor, monkeypatch):
    def fail(*_):
        raise OperationalError("connection refused")

    visitor.raise_request_exception = False
    # Within the page, and before any page is reached.
    for place in ("kebab.pages.page.access_of_request", "kebab.identity.sessions.SessionStore.load"):
        monkeypatch.setattr(place, fail)
        response = visitor.get("/w/handbook/search?q=deploy")
        assert (response.status_code, response["Retry-After"]) == (503, "5"), place
