from functools import cache
from typing import Any

import jsonschema
import pytest
from django.urls import Resolver404, resolve
from drf_spectacular.generators import SchemaGenerator

from kebab.identity.models import Role
from kebab.people.groups import create_group
from kebab.people.operator import command_line_access
from tests.support.actors import member_client
from tests.support.schemas import check_every_response


@pytest.fixture(autouse=True)
def _test_addresses(settings):
    settings.ROOT_URLCONF = "tests.support.urlconf"


@pytest.fixture(autouse=True)
def _responses_are_as_documented(monkeypatch):
    """Check every response of these tests against the OpenAPI document."""
    check_every_response(monkeypatch, check_response)


@pytest.fixture
def admin(workspace):
    return member_client(workspace, Role.ADMIN)


@pytest.fixture
def group(workspace):
    return create_group(command_line_access(workspace), "staff")


def check_response(response: Any) -> None:
    """Raise ValidationError for a response that the OpenAPI document does not describe."""
    try:
        match = resolve(response.request["PATH_INFO"])
    except Resolver404:
        return
    if not match.func.__module__.startswith("kebab.people.api"):
        return
    operation = _operations().get((_plain(f"/{match.route}"), response.request["REQUEST_METHOD"].lower()))
    if operation is None:
        assert response.status_code in {401, 405}
        return
    responses = operation["responses"]
    documented = responses.get(str(response.status_code), responses["default"])
    assert response.status_code >= 400 or str(response.status_code) in responses, response.status_code
    content = documented.get("content")
    if content is None:
        assert response.content == b""
        return
    schema = next(iter(content.values()))["schema"]
    jsonschema.validate(response.json(), {**schema, "components": _document()["components"]})


def _plain(route: str) -> str:
    """Return a route as the document writes it: `<uuid:group_id>` becomes `{group_id}`."""
    parts = [f"{{{part[1:-1].rpartition(':')[2]}}}" if part[:1] == "<" else part for part in route.split("/")]
    return "/".join(parts)


@cache
def _document() -> dict[str, Any]:
    generator = SchemaGenerator(urlconf="tests.support.urlconf")
    return dict(generator.get_schema(request=None, public=True))


@cache
def _operations() -> dict[tuple[str, str], Any]:
    return {
        (path, method): operation
        for path, item in _document()["paths"].items()
        for method, operation in item.items()
    }
