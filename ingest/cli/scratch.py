"""A workspace for the length of a measurement."""

import secrets
from collections.abc import Iterator
from contextlib import contextmanager

from kebab.people.deletion import delete_workspace
from kebab.people.models import Workspace
from kebab.people.operator import operating_caller, the_operator
from kebab.people.workspaces import create_workspace


@contextmanager
def scratch_workspace(verb: str) -> Iterator[Workspace]:
    """Give a workspace that is named after `verb` and deleted however the block ends."""
    slug = f"{verb}-{secrets.token_hex(4)}"
    workspace = create_workspace(operating_caller(), slug, name=verb.capitalize())
    try:
        yield workspace
    finally:
        delete_workspace(the_operator(workspace))
