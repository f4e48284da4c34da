"""A workspace and a folder for the length of a measurement."""

import secrets
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from django.conf import settings

from kebab.people.deletion import delete_workspace
from kebab.people.models import Workspace
from kebab.people.operator import operating_caller, the_operator
from kebab.people.workspaces import create_workspace
from kebab.stack.paths import DataDirectory


@contextmanager
def scratch_workspace(verb: str) -> Iterator[Workspace]:
    """Return a workspace that is named after `verb` and deleted however the block ends."""
    slug = f"{verb}-{secrets.token_hex(4)}"
    workspace = create_workspace(operating_caller(), slug, name=verb.capitalize())
    try:
        yield workspace
    finally:
        delete_workspace(the_operator(workspace))


@contextmanager
def scratch_folder() -> Iterator[Path]:
    """Make a folder that the workers can read, and remove it however the block ends."""
    parent = DataDirectory(settings.KEBAB_DATA_DIR).bench
    parent.mkdir(mode=0o700, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=parent) as folder:
        yield Path(folder)
