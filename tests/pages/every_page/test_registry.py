"""Every page is registered, and each page and action admits exactly the registered roles."""

import pytest
from django.test import Client

from kebab.identity.models import Role
from tests.pages.every_page.registry import ACTS, CORE, NO_PAGES, PAGES, page_routes
from tests.security.leaks.routes import routes

_OF_WORKSPACES = [
    entry for entry in PAGES if "slug" in page_routes()[entry.route].arguments and entry.status == 200
]
_SHARED = [entry for entry in _OF_WORKSPACES if not (entry.is_personal or entry.as_role or entry.opens)]
_BELOW = {Role.EDITOR: Role.VIEWER, Role.ADMIN: Role.EDITOR, Role.OWNER: Role.ADMIN}


def client_of(person):
    client = Client()
    client.force_login(person)
    return client


def test_pages_and_acts_are_registered_once():
    registered = {entry.route for entry in PAGES}
    missing = sorted(set(page_routes()) - registered - set(NO_PAGES))
    posts = {each.name for each in routes() if each.pattern.startswith("w/") and "post" in each.methods}

    assert not missing, f"Say in tests/pages/every_page/registry.py how these pages are opened: {missing}"
    assert not registered & set(NO_PAGES)
    assert len({entry.label for entry in PAGES}) == len(PAGES)
    assert {entry.route for entry in PAGES if entry.is_core} == CORE & set(page_routes())
    assert posts == set(ACTS), f"Say there who may do these: {posts ^ set(ACTS)}"


@pytest.mark.django_db
def test_page_is_hidden_from_strangers_and_refused_to_the_role_below(ground, subtests):
    nobody, stranger = Client(), client_of(ground.stranger)
    below = {role: client_of(ground.people[lesser]) for role, lesser in _BELOW.items()}
    assert set(ground.people) == set(Role)

    for entry in _OF_WORKSPACES:
        with subtests.test(page=entry.label):
            where = entry.address(ground)
            assert nobody.get(where)["Location"].startswith("/login?next=")
            assert stranger.get(where).status_code == 404
            if entry in _SHARED and entry.need in below:
                assert below[entry.need].get(where).status_code == 403


@pytest.mark.django_db
def test_act_is_hidden_from_strangers_and_refused_to_the_role_below(ground, subtests):
    nobody, stranger = Client(), client_of(ground.stranger)
    below = {role: client_of(ground.people[lesser]) for role, lesser in _BELOW.items()}
    # Of others than the viewer, who may leave.
    arguments = {**ground.ids, "user_id": str(ground.people[Role.OWNER].pk)}

    for route in routes():
        if route.name not in ACTS:
            continue
        with subtests.test(act=route.name):
            where, need = route.path(arguments), ACTS[route.name]
            assert nobody.post(where)["Location"].startswith("/login?next=")
            assert stranger.post(where).status_code == 404
            if need in below:
                assert below[need].post(where).status_code == 403


@pytest.mark.slow
@pytest.mark.django_db
def test_page_lets_in_the_role_that_it_needs_and_those_above(ground, subtests):
    for role, person in ground.people.items():
        client = client_of(person)
        for entry in _SHARED:
            with subtests.test(page=entry.label, role=role):
                expected = 200 if role.level >= entry.need.level else 403
                assert client.get(entry.address(ground)).status_code == expected
