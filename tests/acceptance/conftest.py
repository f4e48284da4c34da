"""One running stack for all acceptance tests, which use its commands and its address alone."""

import itertools
import json
import shutil
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.acceptance.client import Client
from tests.acceptance.walks.visitor import PASSWORD
from tests.support.stack import Stack, temporary_directory

_numbers = itertools.count(1)
#: Workspaces and tokens created by one process, as a command takes two seconds to start.
_BATCH = 8
_MAKE = """
import sys
from kebab.people.operator import command_line_caller
from kebab.identity.tokens import mint_token
from kebab.people.workspaces import create_workspace
from kebab.tenancy.current_workspace import acting_everywhere
with acting_everywhere():
    for slug in {slugs}:
        workspace = create_workspace(command_line_caller(), slug)
        sys.stdout.write(mint_token(workspace, scopes=("search", "ingest", "ask"))[1] + "\\n")
"""


@pytest.fixture(scope="session")
def source_root() -> Path:
    """Create a folder that sources of the stack may read."""
    folder = temporary_directory() / "shelves"
    folder.mkdir(mode=0o755)
    return folder


@pytest.fixture(scope="package")
def stack(source_root: Path) -> Iterator[Stack]:
    """Run a whole stack with a data directory and a port of its own, for tests that kill no part of it."""
    running = Stack(
        source_root.parent / "data",
        KEBAB_EMBEDDER="hash",
        KEBAB_NODE_ID="node-a",
        KEBAB_FOLDER_ROOTS=str(source_root),
        DJANGO_SUPERUSER_PASSWORD=PASSWORD,
    )
    try:
        running.up()
        yield running
    finally:
        running.stop()
        running.remove()
        shutil.rmtree(source_root.parent, ignore_errors=True)


@pytest.fixture(scope="package")
def run_command(stack: Stack) -> Callable[..., Any]:
    """Return a function that runs a command with `--json`, which has to succeed, and returns its document."""

    def run(*arguments: str) -> Any:
        done = stack.run(*arguments, "--json")
        assert done.returncode == 0, done.stderr
        return json.loads(done.stdout)

    return run


@pytest.fixture(scope="package")
def make_client(stack: Stack) -> Iterator[Callable[[], Client]]:
    """Yield a function that creates a workspace, and returns a client that may search, ask and upload."""
    clients: list[Client] = []
    spare: list[tuple[str, str]] = []

    def make() -> Client:
        if not spare:
            slugs = [f"w{next(_numbers)}" for _ in range(_BATCH)]
            result = stack.run("shell", "--no-imports", "-c", _MAKE.format(slugs=slugs))
            assert result.returncode == 0, result.stderr
            spare.extend(zip(slugs, result.stdout.split(), strict=True))
        clients.append(Client(stack.url, *spare.pop()))
        return clients[-1]

    yield make
    for client in clients:
        client.close()


@pytest.fixture(scope="module")
def client(make_client: Callable[[], Client]) -> Client:
    """Return a client in a workspace of the module's own."""
    return make_client()
