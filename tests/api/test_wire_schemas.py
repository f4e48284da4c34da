"""The published schemas: complete, strict, served to anyone, and true of what is written."""

import io
import json
import re
from dataclasses import fields

import jsonschema
import pytest

from kebab.api.errors import FieldError, InvalidRequest
from kebab.cli.errors import report
from search.retrieval.citation import Citation
from search.retrieval.types import (
    LexicalTotal,
    RerankOutcome,
    RetrievalDetail,
    SearchHit,
    SearchResult,
    VectorWindow,
)
from search.wire.schemas import inlined_schema, load_schema, schema_names
from tests.support.schemas import validate

HIT = load_schema("search_hit.v1")["properties"]
RESPONSE = load_schema("search_response.v1")["properties"]


def objects(part):
    """Give every object schema within `part` that names its properties."""
    if isinstance(part, list):
        for item in part:
            yield from objects(item)
    elif isinstance(part, dict):
        if "properties" in part and part.get("type") == "object":
            yield part
        for item in part.values():
            yield from objects(item)


@pytest.mark.parametrize(
    ("type_", "properties", "also"),
    [
        (SearchHit, HIT, {"schema_version"}),
        (RetrievalDetail, HIT["retrieval"]["properties"], set()),
        (Citation, load_schema("citation.v1")["properties"], {"uri"}),
        (SearchResult, RESPONSE, {"schema_version"}),
        (RerankOutcome, RESPONSE["rerank"]["anyOf"][1]["properties"], set()),
        (LexicalTotal, RESPONSE["lexical_total"]["anyOf"][1]["properties"], set()),
        (VectorWindow, RESPONSE["vector_window"]["anyOf"][1]["properties"], set()),
    ],
)
def test_a_schema_has_every_field_of_its_type_and_no_other(type_, properties, also):
    assert set(properties) == {field.name for field in fields(type_)} | also


@pytest.mark.parametrize("name", schema_names())
def test_a_schema_is_valid_and_allows_no_other_fields(name):
    schema = load_schema(name)

    jsonschema.Draft202012Validator.check_schema(schema)
    assert schema["$id"] == f"{name}.json"
    assert schema["$schema"] == "https://json-schema.org/draft/2020-12/schema"
    for each in objects(schema):
        assert each["additionalProperties"] is False


@pytest.mark.parametrize(
    "name",
    [
        *("citation.v1", "search_hit.v1", "search_response.v1", "ingest_report.v1"),
        *("context.v1", "library_search.v1", "library_snippet.v1", "snippet_search.v1", "context_pack.v1"),
        *("embedding.v1", "embedding_space.v1", "analytics.v1"),
    ],
)
def test_what_is_absent_is_null_and_never_left_out(name):
    added_by_the_command_line = {"embedding_calls", "embedding_error"}

    for each in objects(load_schema(name)):
        assert set(each["properties"]) - set(each["required"]) <= added_by_the_command_line


def test_the_schemas_that_are_promised_are_there():
    promised = {"citation.v1", "error.v1", "ingest_report.v1", "problem.v1", "search_hit.v1"}
    promised |= {"context.v1", "library_search.v1", "library_snippet.v1", "snippet_search.v1"}
    promised |= {"context_pack.v1", "embedding.v1", "embedding_space.v1", "analytics.v1"}
    assert promised | {"search_response.v1", "bulk_response.v1"} <= set(schema_names())


def test_a_schema_goes_by_its_title_which_has_its_version():
    for name in schema_names():
        assert re.fullmatch(r"[a-z_]+\.v1", name)
        assert load_schema(name)["title"] == name


def test_inlined_schemas_refer_to_nothing():
    assert "$ref" not in json.dumps(inlined_schema("search_response.v1"))


@pytest.mark.parametrize("suffix", ["", ".json"])
@pytest.mark.parametrize("name", schema_names())
def test_anyone_may_read_a_schema(client, name, suffix):
    client.credentials()
    response = client.get(f"/api/v1/schemas/{name}{suffix}")

    assert response.status_code == 200
    assert response.headers["Content-Type"] == "application/schema+json"
    assert json.loads(response.content) == load_schema(name)


@pytest.mark.parametrize("name", ["nothing.v1", "..%2Fv1%2Fcitation.v1", "%2e%2e", "citation"])
def test_an_unknown_schema_is_not_found(client, name):
    response = client.get(f"/api/v1/schemas/{name}")

    assert (response.status_code, response.json()["code"]) == (404, "not_found")


def test_a_schema_takes_no_parameters(client):
    assert client.get("/api/v1/schemas/citation.v1?x=1").status_code == 400


def test_errors_over_http_are_as_their_schema_says(client, workspace):
    for tail in (f"workspaces/{workspace.slug}/search?k=-1&q=", "nowhere", "workspaces?x=1"):
        problem = client.get(f"/api/v1/{tail}").json()
        assert problem["status"] >= 400
        validate("problem.v1", problem)


def test_errors_on_the_command_line_are_as_their_schema_says():
    stream = io.StringIO()
    wrong = FieldError(field="k", message="too many")
    report(InvalidRequest("No.", errors=[wrong]), stream, as_json=True)
    report(InvalidRequest("No."), stream, as_json=True)

    for line in stream.getvalue().splitlines():
        validate("error.v1", json.loads(line))
