"""One running stack for all acceptance tests of a session: they know only its commands and its address."""

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


@pytest.fixture(scope="session")
def shelves() -> Path:
    """A folder that sources of the stack may read."""
    folder = temporary_directory() / "shelves"
    folder.mkdir(mode=0o755)
    return folder


@pytest.fixture(scope="session")
def stack(shelves: Path) -> Iterator[Stack]:
    """A whole stack with a data directory and a port of its own, for all tests that kill nothing of it."""
    running = Stack(
        shelves.parent / "data",
        KEBAB_EMBEDDER="hash",
        KEBAB_NODE_ID="node-a",
        KEBAB_FOLDER_ROOTS=str(shelves),
        DJANGO_SUPERUSER_PASSWORD=PASSWORD,
    )
    try:
        running.up()
        yield running
    finally:
        running.stop()
        running.remove()
        shutil.rmtree(shelves.parent, ignore_errors=True)


@pytest.fixture(scope="session")
def verb(stack: Stack) -> Callable[..., Any]:
    """Run a verb with `--json`, which has to succeed, and give the document that it prints."""

    def run(*arguments: str) -> Any:
        done = stack.run(*arguments, "--json")
        assert done.returncode == 0, done.stderr
        return json.loads(done.stdout)

    return run


@pytest.fixture(scope="session")
def make_client(stack: Stack, verb: Callable[..., Any]) -> Iterator[Callable[[], Client]]:
    """Make a workspace, and give a client with a token that may search and ingest in it."""
    clients = []

    def make() -> Client:
        slug = f"w{next(_numbers)}"
        verb("workspace", "create", slug)
        token = verb("token", "create", "--workspace", slug, "--scope", "search,ingest")["token"]
        clients.append(Client(stack.url, slug, token))
        return clients[-1]

    yield make
    for client in clients:
        client.close()


@pytest.fixture(scope="module")
def client(make_client: Callable[[], Client]) -> Client:
    """A client in a workspace of the module's own."""
    return make_client()
