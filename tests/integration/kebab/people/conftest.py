import pytest
from rest_framework.test import APIClient

from tests.integration.kebab.people.openapi import check_response
from tests.support.actors import make_workspace


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
