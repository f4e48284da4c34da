"""A request whose body nobody reads has none, or an object without fields."""

import json
import re
import uuid

import pytest

from kebab.people.models import Role
from search.models import SourceVersion
from tests.support.actors import member_client
from tests.support.api import address, folder

# Below no workspace, and open to anyone, are the schemas and the document itself.
_BELOW_WORKSPACE = "/api/v1/workspaces/"


@pytest.fixture
def owner(workspace):
    return member_client(workspace, Role.OWNER)


@pytest.fixture
def synced(client, workspace, settings, tmp_path):
    config = {"path": str(folder(settings, tmp_path, **{"a.md": "apple"}))}
    fields = {"key": "notes", "kind": "folder", "config": config}
    return client.post(address(workspace, "/sources"), fields, format="json").json()


def bodiless(document):
    """Give method and address of each operation, no GET, that the document gives no body."""
    return [
        (method.upper(), path)
        for path, operations in document["paths"].items()
        for method, operation in operations.items()
        if "requestBody" not in operation and method != "get" and path.startswith(_BELOW_WORKSPACE)
    ]


def with_some_id(path, workspace):
    numbers = dict.fromkeys(("user_id", "entry_id", "space_id"), "1")
    ids = {"ws": workspace.slug, "doc_id": "0" * 32, "chunk_id": "0" * 32, **numbers}
    return re.sub(r"\{(\w+)\}", lambda name: ids.get(name[1], str(uuid.UUID(int=0))), path)


def test_what_the_document_gives_no_body_refuses_fields(owner, workspace):
    document = json.loads(owner.get("/api/schema/?format=json").content)
    found = bodiless(document)
    assert {method for method, _ in found} == {"POST", "PUT", "DELETE"}
    for method, path in found:
        place = with_some_id(path, workspace)
        response = owner.generic(method, place, b'{"version": "v1"}', content_type="application/json")
        assert (response.status_code, response.json()["code"]) == (400, "unknown_field"), (method, path)


def test_a_sync_of_a_version_is_refused_rather_than_one_of_the_default(client, workspace, synced):
    place = address(workspace, f"/sources/{synced['id']}/sync")
    response = client.post(place, {"version": "v1"}, format="json")
    assert response.status_code == 400
    assert [error["field"] for error in response.json()["errors"]] == ["version"]
    assert not SourceVersion.objects.in_workspace(workspace).filter(tag="v1").exists()


@pytest.mark.parametrize("body", [b"[]", b"null", b'{"version"', b"1"])
def test_what_is_no_object_is_refused(client, workspace, synced, body):
    place = address(workspace, f"/sources/{synced['id']}/sync")
    assert client.post(place, body, content_type="application/json").status_code == 400


@pytest.mark.parametrize(
    ("body", "content_type"),
    [(b"", "application/json"), (b"", "application/x-www-form-urlencoded"), (b"{}", "application/json")],
)
def test_an_empty_body_is_as_good_as_none(client, workspace, synced, body, content_type):
    place = address(workspace, f"/sources/{synced['id']}/sync")
    assert client.post(place, body, content_type=content_type).status_code == 202
