"""Seeded operations of several clients at each node, over few documents, some of them busy ones."""

import random
import threading
from collections.abc import Mapping, Sequence
from contextlib import AbstractContextManager, closing
from dataclasses import dataclass

from search.mirror.files import MirrorFiles
from tests.drills.consistency.clients import Client, Shared
from tests.drills.consistency.history import History, Register

_CLIENTS = 5
_BUSY, _QUIET = 4, 20
# Weights of operations: writes that wait, writes that don't, deletions, reads, lists, searches.
_WEIGHTS = (10, 5, 5, 8, 4, 68)
_IN_A_BUSY_ONE = 0.5
_WITH_MIN_SEQ = 0.6
_FOR_A_WORD = 0.4
_LOCK_LIMIT_S = 30.0
_TIMED_OUT = "not_searchable_yet"
_MODES = ("lexical", "lexical", "hybrid")


@dataclass(frozen=True, slots=True, kw_only=True)
class Cluster:
    """A workspace, and the nodes that serve it."""

    #: Of two nodes: clients write through the first where one is enough.
    urls: Mapping[str, str]
    slug: str
    token: str
    #: The files of the workspace's mirror on the second node.
    mirror: MirrorFiles

    def locked_mirror(self) -> AbstractContextManager[None]:
        """Lock the second node's mirror against other writers."""
        return self.mirror.write_lock(wait_s=_LOCK_LIMIT_S)


def play(place: Cluster, *, operations: int, seed: int) -> History:
    """Let the clients do `operations` operations in total, and return their history."""
    shared = Shared()
    busy = [f"busy/{number}.md" for number in range(_BUSY)]
    quiet = [f"quiet/{number}.md" for number in range(_QUIET)]
    _begin(shared, place, [*busy, *quiet])
    threads = [
        threading.Thread(
            target=_run,
            args=(shared, place, node, random.Random(f"{seed} {node} {number}"), busy, quiet, operations),
            daemon=True,
        )
        for node in place.urls
        for number in range(_CLIENTS)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    _provoke_timeout(shared, place)
    return shared.history


def _begin(shared: Shared, place: Cluster, registers: Sequence[Register]) -> None:
    """Write each document once, so that its id is known, and let each node build its mirror."""
    clients = _clients(shared, place)
    for register in registers:
        clients[0].write(register, waits=True)
    for client in clients:
        client.search(registers[0], None, mode="lexical", min_seq=shared.newest_seq)
        client.close()


def _clients(shared: Shared, place: Cluster) -> list[Client]:
    return [Client(shared, node, url, place.slug, place.token) for node, url in place.urls.items()]


def _run(
    shared: Shared,
    place: Cluster,
    node: str,
    rng: random.Random,
    busy: Sequence[Register],
    quiet: Sequence[Register],
    operations: int,
) -> None:
    with closing(Client(shared, node, place.urls[node], place.slug, place.token)) as client:
        while shared.history.size < operations:
            register = rng.choice(busy if rng.random() < _IN_A_BUSY_ONE else quiet)
            _do(client, shared, register, rng)


def _do(client: Client, shared: Shared, register: Register, rng: random.Random) -> None:
    (what,) = rng.choices(("wait", "write", "delete", "read", "list", "search"), _WEIGHTS)
    match what:
        case "wait" | "write":
            client.write(register, waits=what == "wait")
        case "delete":
            client.delete(register)
        case "read":
            client.read(register)
        case "list":
            client.list(register)
        case _:
            _search(client, shared, register, rng)


def _search(client: Client, shared: Shared, register: Register, rng: random.Random) -> None:
    word, min_seq = None, shared.newest_seq if rng.random() < _WITH_MIN_SEQ else None
    if rng.random() < _FOR_A_WORD:
        word, seq = shared.known[register][-1]
        min_seq = None if min_seq is None else max(seq, 1)
    client.search(register, word, mode=rng.choice(_MODES), min_seq=min_seq)


def _provoke_timeout(shared: Shared, place: Cluster) -> None:
    """Lock the other node's mirror, so that a search there for a newer change is rejected with its code."""
    here, there = _clients(shared, place)
    before = shared.history.refusals.get(_TIMED_OUT, 0)
    with place.locked_mirror():
        here.write("busy/0.md", waits=True)
        there.search("busy/0.md", None, mode="lexical", min_seq=None)
        there.search("busy/0.md", None, mode="lexical", min_seq=shared.newest_seq)
    there.search("busy/0.md", None, mode="lexical", min_seq=shared.newest_seq)
    for client in (here, there):
        client.close()
    if shared.history.refusals.get(_TIMED_OUT, 0) == before:
        shared.history.errors.append("a search for a change that a mirror could not show was not refused")
