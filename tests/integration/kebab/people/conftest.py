import uuid

import pytest
from rest_framework.test import APIClient

from kebab.people.groups import create_group
from kebab.people.models import Role
from kebab.people.operator import the_operator
from tests.integration.kebab.people.openapi import check_response
from tests.support.actors import make_workspace, member_client


@pytest.fixture(autouse=True)
def _test_addresses(settings):
    settings.ROOT_URLCONF = "tests.support.urlconf"


@pytest.fixture(autouse=True)
def _responses_are_as_documented(monkeypatch):
    """Hold every answer and every problem of these tests to the OpenAPI document."""
    request = APIClient.request

    def checked(client, **options):
        response = request(client, **options)
        check_response(response)
        return response

    monkeypatch.setattr(APIClient, "request", checked)


@pytest.fixture
def workspace(db):
    return make_workspace()


@pytest.fixture
def other_workspace(db):
    return make_workspace()


@pytest.fixture
def admin(workspace):
    return member_client(workspace, Role.ADMIN)


@pytest.fixture
def group(workspace):
    return create_group(the_operator(workspace), "staff")


@pytest.fixture
def foreign_and_missing_group(other_workspace):
    return create_group(the_operator(other_workspace), "staff").pk, uuid.uuid4()
