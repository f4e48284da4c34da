import pytest
from django.test import Client

from kebab.identity.models import Role, User, Workspace
from tests.pages.search.shelf import make_member


@pytest.fixture
def workspace(db):
    return Workspace.objects.create(slug="handbook", name="Team handbook")


@pytest.fixture
def other_workspace(db):
    return Workspace.objects.create(slug="secrets", name="Board papers")


@pytest.fixture
def owner(workspace):
    return make_member(workspace, "olga@example.org", Role.OWNER)


@pytest.fixture
def admin(workspace):
    return make_member(workspace, "adam@example.org", Role.ADMIN)


@pytest.fixture
def viewer(workspace):
    return make_member(workspace, "vera@example.org")


@pytest.fixture
def operator_owner(owner):
    """Return an owner who is also an operator."""
    User.objects.filter(pk=owner.pk).update(is_staff=True, is_superuser=True)
    return User.objects.get(pk=owner.pk)


@pytest.fixture
def as_person():
    """Return a function that opens a browser in which a person is logged in."""

    def client_of(person):
        client = Client()
        client.force_login(person)
        return client

    return client_of


@pytest.fixture
def at(as_person, owner):
    """Return a browser of the owner."""
    return as_person(owner)
