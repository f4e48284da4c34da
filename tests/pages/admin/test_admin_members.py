"""The list of members reaches each one, however many there are."""

import pytest

from kebab.admin import changelist
from kebab.identity.models import Membership, Role
from tests.support.actors import make_member, make_person, make_workspace


@pytest.fixture
def narrow(monkeypatch):
    """Limit lists to three rows."""
    monkeypatch.setattr(changelist, "WINDOW", 3)


@pytest.fixture
def old(workspace):
    """Return a member of the workspace, older than many members of another one."""
    ada = make_person("ada@example.org")
    membership = Membership.objects.create(workspace=workspace, user=ada, role=Role.EDITOR)
    elsewhere = make_workspace("elsewhere")
    for _ in range(5):
        make_member(elsewhere, Role.VIEWER)
    return membership


def page_of(office, query):
    answer = office.get(f"/admin/people/membership/?{query}")
    assert answer.status_code == 200
    return answer.content.decode()


def test_the_window_of_a_workspace_holds_its_members_alone(office, workspace, old, narrow):
    assert "ada@example.org" not in page_of(office, "")
    assert "ada@example.org" in page_of(office, f"workspace__id__exact={workspace.pk}")
    assert "ada@example.org" in page_of(office, f"workspace__id__exact={workspace.pk}&role__exact=editor")


def test_member_is_found_by_address_beyond_the_window(office, workspace, old, narrow):
    within = f"&workspace__id__exact={workspace.pk}"
    for asked in ("q=ada@example.org", "q=ADA", f"q=ad{within}"):
        assert "ada@example.org" in page_of(office, asked), asked
    for asked in ("q=nobody", "q=example.org", f"q=nobody{within}"):
        assert "ada@example.org" not in page_of(office, asked), asked
