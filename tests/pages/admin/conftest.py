import pytest

from kebab.identity.models import Role, User
from tests.pages.admin.admin_rows import AdminRows
from tests.support.actors import make_member, make_workspace


@pytest.fixture
def workspace(db, mirrors):
    return make_workspace("handbook")


@pytest.fixture
def operator(db):
    return User.objects.create_superuser("root@example.org")


@pytest.fixture
def office(client, operator):
    """Return a client in which an operator is logged in."""
    client.force_login(operator)
    return client


@pytest.fixture
def viewer(workspace):
    return make_member(workspace, Role.VIEWER)


@pytest.fixture
def admin_rows(workspace):
    """Return rows of every kind with hostile text in them."""
    return AdminRows(workspace)
