import pytest

from kebab.people.groups import create_group
from kebab.people.models import Role
from kebab.people.operator import the_operator
from tests.integration.kebab.people.openapi import check_response
from tests.support.actors import member_client
from tests.support.schemas import check_responses


@pytest.fixture(autouse=True)
def _test_addresses(settings):
    settings.ROOT_URLCONF = "tests.support.urlconf"


@pytest.fixture(autouse=True)
def _responses_are_as_documented(monkeypatch):
    """Hold every answer and every problem of these tests to the OpenAPI document."""
    check_responses(monkeypatch, check_response)


@pytest.fixture
def admin(workspace):
    return member_client(workspace, Role.ADMIN)


@pytest.fixture
def group(workspace):
    return create_group(the_operator(workspace), "staff")
