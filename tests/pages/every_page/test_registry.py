"""No page is left out of what is proven of all pages, and each lets in whom it says."""

import pytest
from django.test import Client

from kebab.people.models import Role
from tests.pages.every_page.registry import CORE, NO_PAGES, PAGES, page_routes

pytestmark = pytest.mark.django_db
_OF_WORKSPACES = [
    entry for entry in PAGES if "slug" in page_routes()[entry.route].arguments and entry.status == 200
]
_SHARED = [entry for entry in _OF_WORKSPACES if not (entry.is_personal or entry.as_role or entry.opens)]
each_page_of_a_workspace = pytest.mark.parametrize("entry", _OF_WORKSPACES, ids=lambda entry: entry.label)


def test_every_page_is_registered():
    registered = {entry.route for entry in PAGES}
    missing = sorted(set(page_routes()) - registered - set(NO_PAGES))

    assert not missing, f"Say in tests/pages/every_page/registry.py how these pages are opened: {missing}"
    assert not registered & set(NO_PAGES)


def test_no_two_pages_have_one_label():
    assert len({entry.label for entry in PAGES}) == len(PAGES)


def test_core_pages_that_there_are_are_registered():
    assert {entry.route for entry in PAGES if entry.is_core} == CORE & set(page_routes())


@pytest.mark.parametrize("entry", _SHARED, ids=lambda entry: entry.label)
def test_a_page_lets_in_the_role_that_it_needs_and_those_above(ground, entry):
    for role, person in ground.people.items():
        client = Client()
        client.force_login(person)
        expected = 200 if role.level >= entry.need.level else 403

        assert client.get(entry.address(ground)).status_code == expected, role


@each_page_of_a_workspace
def test_a_page_is_not_there_for_a_stranger_and_asks_nobody_to_log_in(ground, entry):
    client = Client()
    assert client.get(entry.address(ground))["Location"].startswith("/login?next=")
    client.force_login(ground.stranger)
    assert client.get(entry.address(ground)).status_code == 404


def test_every_role_is_on_the_ground(ground):
    assert set(ground.people) == set(Role)
