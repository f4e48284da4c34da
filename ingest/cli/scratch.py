"""A workspace for the length of a measurement."""

import secrets
from collections.abc import Iterator
from contextlib import contextmanager

from kebab.people.deletion import delete_workspace
from kebab.people.models import Workspace
from kebab.people.workspaces import create_workspace


@contextmanager
def scratch_workspace(verb: str) -> Iterator[Workspace]:
    """Give a workspace that is named after `verb` and deleted however the block ends."""
    workspace = create_workspace(f"{verb}-{secrets.token_hex(4)}", name=verb.capitalize())
    try:
        yield workspace
    finally:
        delete_workspace(workspace)
