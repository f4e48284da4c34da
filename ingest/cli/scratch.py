"""Scratch workspace for the duration of a measurement."""

import secrets
from collections.abc import Iterator
from contextlib import contextmanager

from kebab.identity.models import Workspace
from kebab.people.operator import command_line_access, command_line_caller
from kebab.people.workspaces import create_workspace, delete_workspace


@contextmanager
def scratch_workspace(command: str) -> Iterator[Workspace]:
    """Create a workspace named after `command` that is deleted at the end of the block, also on errors."""
    slug = f"{command}-{secrets.token_hex(4)}"
    workspace = create_workspace(command_line_caller(), slug, name=command.capitalize())
    try:
        yield workspace
    finally:
        delete_workspace(command_line_access(workspace))
