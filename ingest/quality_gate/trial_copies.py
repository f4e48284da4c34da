"""Copies of workspaces in which releases up to 0.3 tried chunk sizes, left by killed processes."""

from kebab.identity.caller import operator_access
from kebab.identity.models import Workspace
from kebab.people.deletion import delete_workspace
from search.evaluation.gate import ACTOR

_SLUG = "^gate-copy-[0-9a-f]{16}$"


def delete_trial_copies() -> None:
    """Delete the copies. They have no members, and nothing else creates such slugs."""
    for copy in Workspace.objects.filter(slug__regex=_SLUG, memberships=None):
        delete_workspace(operator_access(copy, ACTOR))
