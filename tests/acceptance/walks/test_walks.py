"""Everybody walks the pages of a running stack: who may do a task does it, who may not is offered no way.

Whatever a console says, and whatever request fails, fails the walk.
"""

import pytest
from playwright.sync_api import expect

from kebab.people.models import Role
from tests.acceptance.walks import filling, managing, reading
from tests.support.browser import needs_browser

pytestmark = needs_browser
TASKS = (*reading.TASKS, *filling.TASKS, *managing.TASKS)
_ROLES = (Role.VIEWER, Role.EDITOR, Role.ADMIN)


@pytest.fixture(autouse=True)
def silent_consoles(team):
    """Whoever walked, the console said nothing."""
    yield
    said = {name: visitor.complaints[:] for name, visitor in team.by_name.items()}
    for visitor in team.by_name.values():
        visitor.complaints.clear()
    assert not any(said.values()), said


@pytest.mark.parametrize("role", _ROLES, ids=lambda role: role.value)
def test_tasks_are_done_by_who_may_and_kept_from_others(team, subtests, role):
    visitor = team.by_name[role.value]
    for task in TASKS:
        with subtests.test(task=task.name):
            if role.level >= task.need.level:
                task.do(visitor)
            else:
                task.is_kept_from(visitor)


def test_a_stranger_finds_nothing(team, subtests):
    for task in TASKS:
        with subtests.test(task=task.name):
            task.is_nowhere_for(team.by_name["stranger"])


def test_who_is_not_logged_in_is_asked_to(team, subtests):
    nobody = team.by_name["nobody"]
    for task in TASKS:
        with subtests.test(task=task.name):
            nobody.open(task.begins_at)
            expect(nobody.page.get_by_label("Password")).to_be_visible()


def test_an_owner_deletes_a_workspace_and_it_is_gone(team):
    owner = team.by_name["owner"]
    page = owner.page
    page.goto("/workspaces")
    page.get_by_label("Name", exact=True).fill("Old pier")
    page.get_by_label("Short name in addresses").fill("old-pier")
    owner.submit("Make it")
    page.goto("/w/old-pier/settings")
    page.get_by_text("Delete Old pier").click()
    page.get_by_label("Type its short name to delete it").fill("old-pier")
    owner.submit("Delete everything")
    page.goto("/workspaces")

    expect(page.get_by_role("link", name="Old pier")).to_have_count(0)
