"""One running stack for all acceptance tests alone: they know only its verbs and its HTTP address."""

import itertools
import json
from collections.abc import Callable, Iterator
from typing import Any

import pytest

from tests.acceptance.client import Client
from tests.support.stack import Stack, temporary_directory

_numbers = itertools.count(1)


@pytest.fixture(scope="package")
def stack() -> Iterator[Stack]:
    """A whole stack with a data directory and a port of its own."""
    running = Stack(temporary_directory(), KEBAB_EMBEDDER="hash", KEBAB_NODE_ID="node-a")
    try:
        running.up()
        yield running
    finally:
        running.stop()
        running.remove()


@pytest.fixture(scope="package")
def verb(stack: Stack) -> Callable[..., Any]:
    """Run a verb with `--json`, which has to succeed, and give the document that it prints."""

    def run(*arguments: str) -> Any:
        done = stack.run(*arguments, "--json")
        assert done.returncode == 0, done.stderr
        return json.loads(done.stdout)

    return run


@pytest.fixture(scope="package")
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
