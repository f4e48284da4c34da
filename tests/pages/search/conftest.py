import pytest

from kebab.identity.models import User, Workspace
from tests.pages.search.shelf import index, make_member, shelve

PASSWORD = "correct horse 7"
GUIDE = """# Deploy

Push the image, then restart the workers one by one.

Roll back with the tag of the release before.
"""


@pytest.fixture
def workspace(db, mirrors):
    return Workspace.objects.create(slug="handbook", name="Team handbook")


@pytest.fixture
def other_workspace(db, mirrors):
    return Workspace.objects.create(slug="secrets", name="Board papers")


@pytest.fixture
def member(workspace):
    return make_member(workspace, "ada@example.org")


@pytest.fixture
def password(member):
    """Set the member's password, and return it."""
    member.set_password(PASSWORD)
    member.save()
    return PASSWORD


@pytest.fixture
def visitor(client, member):
    """Return a browser in which a member of `workspace` is logged in."""
    client.force_login(member)
    return client


@pytest.fixture
def operator_client(client, db):
    client.force_login(User.objects.create_superuser("root@example.org"))
    return client


@pytest.fixture
def guide(transactional_db, workspace):
    """Return a searchable document, committed because a mirror reads in its own transaction."""
    document = shelve(workspace, "ops/deploy.md", GUIDE, title="Deploy guide")
    index(workspace)
    return document
