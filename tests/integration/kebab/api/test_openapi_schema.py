import json

import pytest


@pytest.fixture
def document(client, db):
    response = client.get("/api/schema/?format=json")
    assert response.status_code == 200
    return json.loads(response.content)


def test_document_is_openapi_3_1_with_both_ways_to_sign_in(document):
    assert document["openapi"].startswith("3.1")
    assert document["components"]["securitySchemes"]["token"]["scheme"] == "bearer"
    assert document["components"]["securitySchemes"]["session"]["in"] == "cookie"


def test_every_operation_documents_its_errors_as_problems(document):
    operations = [operation for path in document["paths"].values() for operation in path.values()]

    assert len(operations) > 10
    for operation in operations:
        for status in ("400", "401", "403", "404", "default"):
            content = operation["responses"][status]["content"]
            assert content["application/problem+json"]["schema"]["$ref"].endswith("/Problem")


def test_idempotency_key_is_documented_where_it_is_accepted(document):
    def headers(path, method):
        return [
            p["name"] for p in document["paths"][path][method].get("parameters", []) if p["in"] == "header"
        ]

    assert headers("/api/v1/workspaces", "post") == ["Idempotency-Key"]
    assert headers("/api/v1/workspaces", "get") == []


def test_list_documents_its_page_and_its_parameters(document):
    parameters = document["paths"]["/api/v1/workspaces"]["get"]["parameters"]
    assert {parameter["name"] for parameter in parameters} == {"cursor", "limit"}
    schema = document["components"]["schemas"]["WorkspacePage"]
    assert set(schema["properties"]) == {"results", "next_cursor"}
