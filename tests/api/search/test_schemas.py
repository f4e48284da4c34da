"""Published schemas: complete, open to additions, and served to anyone."""

import io
import json
import re

import jsonschema

from kebab.cli.report import report
from kebab.errors import FieldError, InvalidRequest
from kebab.http.api.openapi_schema import load_schema, schema_names
from tests.api.refusals import refusal_of
from tests.support.published_schemas import PUBLISHED, generate_schema, schema_file
from tests.support.schemas import validate

NO_ABSENT_FIELDS = {
    *("citation.v1", "search_hit.v1", "search_response.v1", "ingest_report.v1"),
    *("context.v1", "library_search.v1", "library_snippet.v1", "snippet_search.v1", "context_pack.v1"),
    *("embedding.v1", "embedding_space.v1", "analytics.v1"),
}
ADDED_BY_THE_COMMAND_LINE = {"embedding_calls", "embedding_error"}


def objects(part):
    """Yield every object schema within `part` that names its properties."""
    if isinstance(part, list):
        for item in part:
            yield from objects(item)
    elif isinstance(part, dict):
        if "properties" in part and part.get("type") == "object":
            yield part
        for item in part.values():
            yield from objects(item)


def test_schemas_of_dataclasses_are_those_published(subtests):
    for name in PUBLISHED:
        with subtests.test(name=name):
            published = schema_file(name).read_text(encoding="utf-8")
            assert published == generate_schema(name), "python -m tests.wire_schemas writes the file"


def test_schemas_are_valid_and_open_to_additions(subtests):
    assert NO_ABSENT_FIELDS | {"error.v1", "problem.v1", "bulk_response.v1"} <= set(schema_names())
    for name in schema_names():
        with subtests.test(name=name):
            schema = load_schema(name)
            jsonschema.Draft202012Validator.check_schema(schema)
            assert re.fullmatch(r"[a-z_]+\.v1", name)
            assert (schema["title"], schema["$id"]) == (name, f"{name}.json")
            assert schema["$schema"] == "https://json-schema.org/draft/2020-12/schema"
            for each in objects(schema):
                assert each.get("additionalProperties", True)
                if name in NO_ABSENT_FIELDS:
                    assert set(each["properties"]) - set(each["required"]) <= ADDED_BY_THE_COMMAND_LINE


def test_schemas_are_served_to_anyone(client, subtests):
    client.credentials()
    for name in schema_names():
        for suffix in ("", ".json"):
            with subtests.test(name=name, suffix=suffix):
                response = client.get(f"/api/v1/schemas/{name}{suffix}")
                assert response.status_code == 200
                assert response.headers["Content-Type"] == "application/schema+json"
                assert json.loads(response.content) == load_schema(name)
    for name in ("nothing.v1", "..%2Fv1%2Fcitation.v1", "%2e%2e", "citation"):
        assert refusal_of(client.get(f"/api/v1/schemas/{name}")) == (404, "not_found", None)
    assert refusal_of(client.get("/api/v1/schemas/citation.v1?x=1")) == (400, "unknown_field", "x")


def test_errors_match_their_schemas(client, workspace):
    for tail in (f"workspaces/{workspace.slug}/search?k=-1&q=", "nowhere", "workspaces?x=1"):
        problem = client.get(f"/api/v1/{tail}").json()
        assert problem["status"] >= 400
        validate("problem.v1", problem)

    stream = io.StringIO()
    report(InvalidRequest("No.", errors=[FieldError(field="k", message="No.")]), stream, as_json=True)
    report(InvalidRequest("No."), stream, as_json=True)
    lines = stream.getvalue().splitlines()
    assert len(lines) == 2
    for line in lines:
        validate("error.v1", json.loads(line))
