"""Copies that trials of releases up to 0.3 left are deleted at the start."""

import pytest

from kebab.contributions import contributions
from kebab.identity.models import Role, Workspace
from tests.support.actors import member_client
from tests.support.corpus import make_workspace, write

pytestmark = pytest.mark.django_db


def test_startup_deletes_only_left_over_trial_copies():
    left = make_workspace(slug="gate-copy-0123456789abcdef")
    write(left, "a.md", "copied")
    for slug in ("gate-copy-of-mine", "gate-copy-0123456789abcde0"):
        member_client(make_workspace(slug=slug), Role.OWNER)
    dict(contributions("init_steps"))["copies of trials"]()
    assert not Workspace.objects.filter(pk=left.pk).exists()
    assert Workspace.objects.count() == 2
