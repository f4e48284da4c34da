"""Walks through the pages of a running stack: permitted roles can do each task, others have no way to.

Any console message and any failed request fails the walk.
"""

import pytest
from playwright.sync_api import expect

from kebab.identity.models import Role
from tests.acceptance.walks import admin_tasks, editor_tasks, member_tasks
from tests.support.browser import needs_browser

pytestmark = needs_browser
TASKS = (*member_tasks.TASKS, *editor_tasks.TASKS, *admin_tasks.TASKS)
_ROLES = (Role.VIEWER, Role.EDITOR, Role.ADMIN)


@pytest.fixture(autouse=True)
def silent_consoles(team):
    """Expect no console messages after each test."""
    yield
    complaints = {name: visitor.complaints[:] for name, visitor in team.by_name.items()}
    for visitor in team.by_name.values():
        visitor.complaints.clear()
    assert not any(complaints.values()), complaints


@pytest.mark.parametrize("role", _ROLES, ids=lambda role: role.value)
def test_permitted_roles_can_do_the_tasks_and_others_cannot(team, subtests, role):
    visitor = team.by_name[role.value]
    for task in TASKS:
        with subtests.test(task=task.name):
            if role.level >= task.need.level:
                task.do(visitor)
            else:
                task.expect_unavailable_to(visitor)


def test_stranger_finds_nothing(team, subtests):
    for task in TASKS:
        with subtests.test(task=task.name):
            task.expect_missing_for(team.by_name["stranger"])


def test_anonymous_visitor_is_asked_to_log_in(team, subtests):
    nobody = team.by_name["nobody"]
    for task in TASKS:
        with subtests.test(task=task.name):
            nobody.open(task.begins_at)
            expect(nobody.page.get_by_label("Password", exact=True)).to_be_visible()


def test_owner_deletes_a_workspace(team):
    owner = team.by_name["owner"]
    page = owner.page
    page.goto("/workspaces")
    page.get_by_text("New workspace").click()
    page.get_by_label("Name", exact=True).fill("Old pier")
    page.get_by_label("URL name").fill("old-pier")
    owner.submit("Create")
    page.goto("/w/old-pier/settings")
    owner.follow("Danger zone")
    page.get_by_label("Type the URL name to confirm").fill("old-pier")
    owner.submit("Delete everything")
    page.goto("/workspaces")

    expect(page.get_by_role("link", name="Old pier")).to_have_count(0)
