"""The three hosts together, a workspace with documents, and what was written to it."""

import threading
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import psycopg

from tests.drills.hosts.asking import Asked, Client
from tests.drills.hosts.database import DatabaseHost
from tests.drills.hosts.network import BACK
from tests.drills.hosts.node import Node
from tests.drills.hosts.report import Report

#: The workspace.
SLUG = "lab"


@dataclass(kw_only=True)
class Lab:
    """Everything that a scene needs."""

    database: DatabaseHost
    a: Node
    b: Node
    report: Report
    token: str = ""
    workspace_id: str = ""
    cookies: dict[str, dict[str, str]] = field(default_factory=dict)
    #: What clients wrote or tried to, with what came of it.
    writes: list[Asked] = field(default_factory=list)
    #: The paths whose deletion was acknowledged.
    deleted: set[str] = field(default_factory=set)
    #: The paths of writes that were refused while the database was away.
    refused: set[str] = field(default_factory=set)
    _lock: threading.Lock = field(default_factory=threading.Lock)

    def client(self, node: Node) -> Client:
        """A client of a node."""
        return Client(node=node, slug=SLUG, token=self.token, cookies=self.cookies[node.name])

    def clients(self, node: Node, count: int) -> list[Client]:
        """Several of them."""
        return [self.client(node) for _ in range(count)]

    def note(self, asked: list[Asked]) -> None:
        """Keep the writes among what was asked, to look after them at the end."""
        with self._lock:
            self.writes += [each for each in asked if each.path]

    def put(self, node: Node, path: str, text: str) -> int:
        """Write a document, wait until it is searchable there, and give its change."""
        client = self.client(node)
        written = client.ask("upload, waiting", path=path, text=text)
        client.close()
        self.note([written])
        if written.status != 201:
            raise RuntimeError(f"{written}: {written.body}")
        return int(written.body["seq"])

    def delete(self, node: Node, path: str) -> int:
        """Delete a document through a node and give the change that did so."""
        gone = self.client(node).send("deletion", "DELETE", f"/documents/{self.document_id(path)}")
        if gone.seq is None:
            raise RuntimeError(f"{gone}: {gone.body}")
        self.deleted.add(path)
        return gone.seq

    def document_id(self, path: str) -> str:
        """The id of the document at a path."""
        found = self.rows("SELECT doc_id FROM search_document WHERE path = %s", path)
        return str(found[0][0].hex)

    def head(self) -> int:
        """The workspace's last change."""
        return int(self.rows("SELECT head_seq FROM people_workspace WHERE slug = %s", SLUG)[0][0])

    def rows(self, query: str, *values: object) -> list[tuple[Any, ...]]:
        """What stands in Postgres, asked past the network."""
        return self._eyes.execute(query, values).fetchall()

    @cached_property
    def _eyes(self) -> psycopg.Connection:
        """One for all questions, which threads may share: a look each hundredth of a second takes no more."""
        return self.database.connect()

    def cut(self) -> None:
        """Let nothing pass between a and the database host: a black hole, both ways."""
        self.lose_to_postgres()
        self.lose_to_redis()
        self.lose_to_a()

    def heal(self) -> None:
        """Let everything pass again."""
        self.a.host.find(BACK, self.database.postgres)
        self.a.host.find(BACK, self.database.redis)
        self.database.host.find(BACK, self.a.host.address(BACK))

    def lose_to_postgres(self) -> None:
        """Lose what a sends to Postgres; what Postgres sends arrives."""
        self.a.host.lose(BACK, self.database.postgres)

    def lose_to_redis(self) -> None:
        """Lose what a sends to Redis."""
        self.a.host.lose(BACK, self.database.redis)

    def lose_to_a(self) -> None:
        """Lose what the database host sends to a; what a sends arrives."""
        self.database.host.lose(BACK, self.a.host.address(BACK))
