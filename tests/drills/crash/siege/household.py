"""The workspace of a siege and all its clients."""

import json
from collections.abc import Iterator
from pathlib import Path

from tests.drills.crash.siege.aftermath import open_jobs
from tests.drills.crash.siege.answers import Answers
from tests.drills.crash.siege.clients import Client
from tests.drills.crash.siege.door import Door
from tests.drills.crash.siege.ledger import Ledger
from tests.drills.crash.siege.readers import Reader, Searcher
from tests.drills.crash.siege.writers import Canary, Editor, Uploader
from tests.support.stack import GaveUp, Stack, eventually

_SLUG = "siege"
_UPLOADERS, _EDITORS, _SEARCHERS = 3, 1, 2
# Number of documents reserved for each client.
_SHARE = 100
_STOP_LIMIT_S = 180.0
_JOBS_LIMIT_S = 180.0


class Household:
    """Clients in a workspace of their own, created by commands of the stack; their files are in `folder`."""

    def __init__(self, stack: Stack, folder: Path, *, seed: int, slug: str = _SLUG) -> None:
        self._stack = stack
        self._slug = slug
        self._seed = seed
        self.answers = Answers()
        self.ledger = Ledger()
        _run_command(stack, "workspace", "create", slug)
        token = ("token", "create", "--workspace", slug, "--scope", "search,ingest,manage")
        self._token = _run_command(stack, *token)["token"]
        self.door = self._open()
        self.canary = Canary("canary", *self._connections(), seed=seed, first=0)
        self.clients: list[Client] = [self.canary, *self._uploaders(), *self._editors(folder)]
        self.clients += [
            Searcher(f"searcher-{n}", *self._connections(), seed=seed) for n in range(_SEARCHERS)
        ]

    def start(self) -> None:
        """Start all clients."""
        for client in self.clients:
            client.start()

    def stop(self) -> list[str]:
        """Stop all clients, wait for all jobs, and return clients and jobs that never ended."""
        for client in self.clients:
            client.ask_to_stop()
        try:
            eventually(lambda: all(each.has_stopped() for each in self.clients), "clients end", _STOP_LIMIT_S)
            eventually(lambda: not self._has_open_jobs(), "all jobs end", _JOBS_LIMIT_S)
        except GaveUp as error:
            for client in self.clients:
                client.abandon()
            return [f"{error} ({', '.join(self.ledger.unsettled_paths()) or 'all writes are acknowledged'})"]
        return [f"{each.name} ended by itself" for each in self.clients if not each.has_finished]

    def _has_open_jobs(self) -> bool:
        return open_jobs(self.door) != 0

    def _uploaders(self) -> Iterator[Client]:
        for number in range(1, _UPLOADERS + 1):
            first = number * _SHARE
            uploader = Uploader(f"uploader-{number}", *self._connections(), seed=self._seed, first=first)
            yield uploader
            yield Reader(f"reader-{number}", *self._connections(), seed=self._seed, uploader=uploader)

    def _editors(self, folder: Path) -> Iterator[Client]:
        for number in range(_EDITORS):
            name = f"editor-{number}"
            own = folder / f"{self._slug}-{name}"
            own.mkdir(parents=True)
            body = {"key": name, "kind": "folder", "config": {"path": str(own)}}
            answer = self.door.ask("source", "POST", "/sources", json=body)
            if answer is None:
                raise GaveUp(f"The source {name} can't be created.")
            source_id = answer.json()["id"]
            more = {"folder": own, "source_id": source_id, "first": (10 + number) * _SHARE}
            yield Editor(name, *self._connections(), seed=self._seed, **more)

    def _open(self) -> Door:
        return Door(self._stack.url, self._slug, self._token, self.answers)

    def _connections(self) -> tuple[Door, Ledger, Answers]:
        return self._open(), self.ledger, self.answers


def _run_command(stack: Stack, *arguments: str) -> dict[str, str]:
    done = stack.run(*arguments, "--json")
    if done.returncode != 0:
        raise GaveUp(f"kebab {' '.join(arguments[:2])} failed: {done.stderr}")
    answer: dict[str, str] = json.loads(done.stdout)
    return answer
