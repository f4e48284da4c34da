"""Checks of API responses against the published schemas."""

from collections.abc import Callable
from functools import cache
from typing import Any

import jsonschema
import pytest
from referencing import Registry, Resource
from rest_framework.test import APIClient

from kebab.http.api.openapi_schema import load_schema, schema_names
from search.wire import RESPONSE_VERSION, SELECTION_VERSION

#: Name of the URL pattern and the schema of what it answers with 200 or 202 in JSON.
ANSWERS = {
    "api-search": "search_response.v1",
    "api-search-bulk": "bulk_response.v1",
    "api-search-several": "several_response.v1",
    "api-library-search": "library_search.v1",
    "api-snippet-search": "snippet_search.v1",
    "api-context": "context.v1",
    "api-context-pack": "context_pack.v1",
    "api-suggest": "suggest_response.v1",
    "api-analytics": "analytics.v1",
    "api-embedding": "embedding.v1",
    "api-embedding-switch": "embedding.v1",
    "api-embedding-rollback": "embedding.v1",
    "api-embedding-space": "embedding.v1",
}
_PROBLEM = "application/problem+json"


def validate(name: str, document: Any) -> None:
    """Raise jsonschema's ValidationError unless `document` matches the published schema `name`.

    Clients must expect further fields; here each one must be known.
    """
    _validator(name).validate(document)


def check_response(response: Any) -> None:
    """Raise ValidationError for a response that does not match its schema."""
    content_type = response.headers.get("Content-Type", "")
    if content_type.startswith(_PROBLEM):
        validate("problem.v1", response.json())
    elif response.status_code in {200, 202} and content_type.startswith("application/json"):
        name = ANSWERS.get(response.resolver_match.url_name)
        if name is not None:
            document = response.json()
            is_selection = name == RESPONSE_VERSION and document["schema_version"] == SELECTION_VERSION
            validate(SELECTION_VERSION if is_selection else name, document)


def check_every_response(
    monkeypatch: pytest.MonkeyPatch, check: Callable[[Any], None] = check_response
) -> None:
    """Call `check` with every response that the test's clients get."""
    request = APIClient.request

    def request_and_check(client: APIClient, **options: Any) -> Any:
        response = request(client, **options)
        check(response)
        return response

    monkeypatch.setattr(APIClient, "request", request_and_check)


def _close(part: Any) -> Any:
    """Return a schema that forbids properties it does not name."""
    if isinstance(part, list):
        return [_close(each) for each in part]
    if not isinstance(part, dict):
        return part
    is_object = part.get("type") == "object" and "properties" in part
    closed = {"additionalProperties": False} if is_object else {}
    return {**closed, **{name: _close(each) for name, each in part.items()}}


@cache
def _validator(name: str) -> jsonschema.Draft202012Validator:
    schemas = {f"{each}.json": Resource.from_contents(_close(load_schema(each))) for each in schema_names()}
    return jsonschema.Draft202012Validator(
        _close(load_schema(name)),
        registry=Registry().with_resources(schemas.items()),
        format_checker=jsonschema.Draft202012Validator.FORMAT_CHECKER,
    )
