"""The OpenAPI document describes every operation, and operations without a body take none.

With KEBAB_WRITE_SNAPSHOTS=1 the test writes `operations.txt` anew.
"""

import io
import json
import os
import re
import uuid
from pathlib import Path

import pytest
import yaml
from django.core.management import call_command

from ingest.models import Job
from kebab.http.api.openapi_document import AGENT_OPERATIONS
from kebab.identity.models import Role
from tests.api.refusals import refusal_of
from tests.support.actors import member_client
from tests.support.api import address, folder

# Below no workspace, and open to anyone, are the schemas and the document itself.
_BELOW_WORKSPACE = "/api/v1/workspaces/"
#: The names that generated clients call operations by; one that changes breaks programs.
_OPERATIONS = Path(__file__).with_name("operations.txt")


@pytest.mark.slow  # it generates the whole document with all checks
def test_document_is_valid_and_complete():
    out = io.StringIO()
    call_command("spectacular", "--validate", "--fail-on-warn", stdout=out)
    document = yaml.safe_load(out.getvalue())

    paths = document["paths"]
    body = paths["/api/v1/workspaces/{ws}/documents/file"]["post"]["requestBody"]
    assert body["content"].keys() == {"multipart/form-data"}
    answer = paths["/api/v1/workspaces/{ws}/search"]["get"]["responses"]["200"]
    reference = answer["content"]["application/json"]["schema"]["$ref"]
    assert reference == "#/components/schemas/SearchResponse"
    hits = document["components"]["schemas"]["SearchResponse"]["properties"]["hits"]
    assert hits["items"] == {"$ref": "#/components/schemas/SearchHit"}
    operations = [operation for path in paths.values() for operation in path.values()]
    for operation in operations:
        assert operation["description"]
        assert 3 < len(operation["summary"]) <= 120, operation["summary"]
        assert len(operation["tags"]) == 1
    assert len({operation["operationId"] for operation in operations}) == len(operations)
    assert {operation["tags"][0] for operation in operations} > {"search", "documents", "jobs", "workspaces"}


def test_document_for_agents_has_a_dozen_operations_with_all_they_refer_to(reader):
    document = reader.get("/api/schema/agent/").json()
    names = [operation["operationId"] for path in document["paths"].values() for operation in path.values()]
    assert sorted(names) == sorted(AGENT_OPERATIONS.values())
    assert document["servers"] == [{"url": "http://testserver"}]
    referred = set(re.findall(r"#/components/schemas/(\w+)", json.dumps(document)))
    assert referred == set(document["components"]["schemas"])
    bodies = [each.get("requestBody") for path in document["paths"].values() for each in path.values()]
    assert "$ref" not in json.dumps(bodies)
    assert document["components"]["securitySchemes"].keys() == {"token"}
    assert len(json.dumps(document)) < 100_000


def parts(part):
    """Yield every object within a document."""
    if isinstance(part, list):
        for item in part:
            yield from parts(item)
    elif isinstance(part, dict):
        yield part
        for item in part.values():
            yield from parts(item)


def test_schema_avoids_constructs_that_client_generators_misread(reader, subtests):
    document = reader.get("/api/schema/?format=json").json()
    schemas = document["components"]["schemas"]
    # Two types of body: openapi-generator's Python client sends a form's fields as JSON.
    bodies = [
        operation["requestBody"]["content"]
        for path in document["paths"].values()
        for operation in path.values()
        if "requestBody" in operation
    ]
    assert {len(body) for body in bodies} == {1}
    # `*/` ends a comment of TypeScript; a default that is an object has no code in Python.
    assert not [part for part in parts(document) if "*/" in str(part.get("description", ""))]
    assert not [part for part in parts(schemas) if part.get("type") and isinstance(part.get("default"), dict)]
    # Several clients match a pattern from the beginning of a text.
    patterns = [part["pattern"] for part in parts(schemas) if isinstance(part.get("pattern"), str)]
    assert all(pattern.startswith("^") and pattern.endswith("$") for pattern in patterns)
    assert not [name for name in schemas if name.startswith("_")]
    for name, schema in schemas.items():
        if not name.endswith("Request"):
            with subtests.test(name=name):
                assert not [part for part in parts(schema) if part.get("additionalProperties") is False]
                inlined = [part for part in parts(schema.get("properties", {})) if "properties" in part]
                assert not [part for part in inlined if part.get("type") == "object"]


def test_operations_keep_their_ids(reader):
    document = reader.get("/api/schema/?format=json").json()
    ids = [
        f"{operation['operationId']} {method.upper()} {path}"
        for path, operations in document["paths"].items()
        for method, operation in operations.items()
    ]
    if os.environ.get("KEBAB_WRITE_SNAPSHOTS"):
        _OPERATIONS.write_text("\n".join(sorted(ids)) + "\n", encoding="utf-8")
    assert sorted(ids) == _OPERATIONS.read_text(encoding="utf-8").splitlines()


def bodiless(document):
    """Return method and address of each unsafe operation without a body in the document."""
    return [
        (method.upper(), path)
        for path, operations in document["paths"].items()
        for method, operation in operations.items()
        if "requestBody" not in operation and method != "get" and path.startswith(_BELOW_WORKSPACE)
    ]


def with_some_id(path, workspace):
    numbers = dict.fromkeys(("user_id", "entry_id", "space_id"), "1")
    digests = dict.fromkeys(("doc_id", "chunk_id", "rule_id"), "0" * 32)
    ids = {"ws": workspace.slug, **digests, **numbers}
    return re.sub(r"\{(\w+)\}", lambda name: ids.get(name[1], str(uuid.UUID(int=0))), path)


def test_operation_without_a_body_refuses_fields(workspace, subtests):
    owner = member_client(workspace, Role.OWNER)
    found = bodiless(json.loads(owner.get("/api/schema/?format=json").content))
    assert {method for method, _ in found} == {"POST", "PUT", "DELETE"}
    for method, path in found:
        with subtests.test(method=method, path=path):
            place = with_some_id(path, workspace)
            response = owner.generic(method, place, b'{"version": "v1"}', content_type="application/json")
            assert refusal_of(response) == (400, "unknown_field", "version")


@pytest.mark.django_db(transaction=True)
def test_sync_takes_a_version_or_no_body(client, workspace, settings, tmp_path):
    config = {"path": str(folder(settings, tmp_path, a_md="apple"))}
    fields = {"key": "notes", "kind": "folder", "config": config}
    source = client.post(address(workspace, "/sources"), fields, format="json").json()
    path = address(workspace, f"/sources/{source['id']}/sync")

    unknown = client.post(path, {"tag": "v1"}, format="json")
    assert refusal_of(unknown) == (400, "unknown_field", "tag")
    named = client.post(path, {"version": "v1", "embed": False}, format="json").json()["job"]
    assert Job.objects.get(pk=named["id"]).payload == {"version": "v1", "embed": False}
    for body in (b"[]", b"null", b'{"version"', b"1"):
        assert client.post(path, body, content_type="application/json").status_code == 400
    for body, kind in ((b"", "json"), (b"", "x-www-form-urlencoded"), (b"{}", "json")):
        assert client.post(path, body, content_type=f"application/{kind}").status_code == 202
