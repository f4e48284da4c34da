"""A workspace that tools of others ask by adapters."""

from tests.support.actors import make_workspace
from tests.support.corpus import write
from tests.support.search import sync

RESTART, LEAVE = "guides/restart.md", "guides/leave.md"


def make_guides():
    """Return a workspace with two guides, whose metadata differ."""
    workspace = make_workspace()
    ops = {"team": "ops", "year": 2024, "date": "2024-03-05", "author": "Ada"}
    write(workspace, RESTART, "Restart the workers with care.", title="Restart", metadata=ops)
    write(workspace, LEAVE, "Annual leave is granted to workers.", metadata={"team": "hr", "year": 2020})
    sync(workspace)
    return workspace
