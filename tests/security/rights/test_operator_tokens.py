"""The command line's tokens: signed by the server's secret, for minutes, and owners of every workspace."""

import pytest
from django.test import Client, RequestFactory

from kebab.errors import Forbidden
from kebab.identity.models import AuditEvent, Membership
from kebab.identity.operator_token import issue_operator_token, read_operator_token
from search.mcp.http import admit_request
from search.models import Source
from tests.support.actors import make_person
from tests.support.corpus import make_workspace


def api(secret, path="/workspaces", method="get", **options):
    """Return the response of the API to a bearer token."""
    headers = {"Authorization": f"Bearer {secret}"}
    return getattr(Client(), method)(
        f"/api/v1{path}", headers=headers, content_type="application/json", **options
    )


@pytest.fixture
def token(settings):
    return issue_operator_token(settings.SECRET_KEY, "ada")


def test_forged_changed_or_old_tokens_are_unknown(db, token, settings, monkeypatch, subtests):
    at, name, signature = token.removeprefix("kbo_").split("_")
    other = issue_operator_token(settings.SECRET_KEY, "eve").split("_")
    for forged in (
        issue_operator_token("another secret", "ada"),
        f"kbo_{int(at) + 1}_{name}_{signature}",
        f"kbo_{at}_{other[2]}_{signature}",
        f"kbo_{at}_{name}_{signature[:-1]}",
        f"kbo_{at}__{signature}",
        "kbo_",
    ):
        with subtests.test(forged=forged):
            assert api(forged).status_code == 401
    monkeypatch.setattr("kebab.identity.operator_token.time.time", lambda: int(at) + 601)
    assert read_operator_token(settings.SECRET_KEY, token) is None


def test_name_of_any_user_is_the_actor(settings):
    for name in ("ada", "Größe 文", ""):
        found = read_operator_token(settings.SECRET_KEY, issue_operator_token(settings.SECRET_KEY, name))
        assert found is not None
        assert found.actor == f"operator:{name}"


def test_operator_owns_every_workspace_and_is_recorded(db, token):
    first, second = make_workspace(), make_workspace()
    rows = api(token).json()["results"]
    assert [(row["slug"], row["role"]) for row in rows] == [(first.slug, "owner"), (second.slug, "owner")]
    changed = api(token, f"/workspaces/{first.slug}", "patch", data={"quota": {"documents": 7}})
    assert changed.json()["quota"]["documents"] == 7
    assert AuditEvent.objects.get().actor == "operator:ada"


def test_operator_names_the_owner_of_a_workspace_or_none_is_guessed(db, token):
    ada = make_person("ada@example.org")
    assert api(token, method="post", data={"slug": "open"}).status_code == 201
    assert not Membership.objects.exists()
    named = api(token, method="post", data={"slug": "named", "owner": ada.email})
    assert (named.status_code, Membership.objects.get().user) == (201, ada)
    ada.is_superuser = True
    ada.save()
    api(token, method="post", data={"slug": "guessed"})
    assert Membership.objects.filter(workspace__slug="guessed").get().user == ada
    unknown = api(token, method="post", data={"slug": "x", "owner": "nobody@example.org"})
    assert (unknown.status_code, unknown.json()["code"]) == (422, "user_unknown")


def test_only_operators_set_quotas_owners_and_read_any_folder(db, tmp_path, settings):
    settings.KEBAB_FOLDER_ROOTS = []
    owner, workspace = make_person(), make_workspace()
    Membership.objects.create(workspace=workspace, user=owner, role="owner")
    client = Client()
    client.force_login(owner)
    for method, path, body in (
        ("patch", f"/workspaces/{workspace.slug}", {"quota": {"documents": 0}}),
        ("post", "/workspaces", {"slug": "other", "owner": owner.email}),
        ("get", "/status", None),
    ):
        found = getattr(client, method)(f"/api/v1{path}", data=body, content_type="application/json")
        assert found.status_code == 403, path
    folder = {"key": "notes", "kind": "folder", "config": {"path": str(tmp_path)}}
    sources = f"/workspaces/{workspace.slug}/sources"
    refused = client.post(f"/api/v1{sources}", data=folder, content_type="application/json")
    assert (refused.status_code, refused.json()["code"]) == (422, "folder_not_allowed")

    operator = issue_operator_token(settings.SECRET_KEY, "ada")
    assert api(operator, sources, "post", data=folder).status_code == 201
    assert Source.objects.get().config == {"path": str(tmp_path)}


def test_mcp_refuses_operator_tokens(db, token):
    request = RequestFactory().post("/mcp", headers={"Authorization": f"Bearer {token}"})
    with pytest.raises(Forbidden):
        admit_request(request)
