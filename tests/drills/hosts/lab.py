"""The three hosts, a workspace with documents, and the record of its writes."""

import threading
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import psycopg

from tests.drills.hosts.client import Client, Exchange
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
    #: All attempted writes, with their outcomes.
    writes: list[Exchange] = field(default_factory=list)
    #: The paths of acknowledged deletions.
    deleted: set[str] = field(default_factory=set)
    #: The paths of writes rejected while the database was away.
    refused: set[str] = field(default_factory=set)
    _lock: threading.Lock = field(default_factory=threading.Lock)

    def client(self, node: Node) -> Client:
        """Return a client of a node."""
        return Client(node=node, slug=SLUG, token=self.token, cookies=self.cookies[node.name])

    def clients(self, node: Node, count: int) -> list[Client]:
        """Return several clients of a node."""
        return [self.client(node) for _ in range(count)]

    def record(self, exchanges: list[Exchange]) -> None:
        """Record the writes among the exchanges, for the audit at the end."""
        with self._lock:
            self.writes += [each for each in exchanges if each.path]

    def upload(self, node: Node, path: str, text: str) -> int:
        """Write a document, wait until it is searchable there, and return its change number."""
        client = self.client(node)
        exchange = client.ask("upload, waiting", path=path, text=text)
        client.close()
        self.record([exchange])
        if exchange.status != 201:
            raise RuntimeError(f"{exchange}: {exchange.body}")
        return int(exchange.body["seq"])

    def delete(self, node: Node, path: str) -> int:
        """Delete a document through a node, and return the change number."""
        exchange = self.client(node).send("deletion", "DELETE", f"/documents/{self.document_id(path)}")
        if exchange.seq is None:
            raise RuntimeError(f"{exchange}: {exchange.body}")
        self.deleted.add(path)
        return exchange.seq

    def document_id(self, path: str) -> str:
        """Return the id of the document at a path."""
        found = self.rows("SELECT doc_id FROM search_document WHERE path = %s", path)
        return str(found[0][0].hex)

    def head(self) -> int:
        """Return the workspace's last change number."""
        return int(self.rows("SELECT head_seq FROM people_workspace WHERE slug = %s", SLUG)[0][0])

    def rows(self, query: str, *values: object) -> list[tuple[Any, ...]]:
        """Return the rows of a query in Postgres, bypassing the network."""
        return self._connection.execute(query, values).fetchall()

    @cached_property
    def _connection(self) -> psycopg.Connection:
        """Return one connection for all queries, which threads may share."""
        return self.database.connect()

    def cut(self) -> None:
        """Drop all packets between a and the database host, in both directions."""
        self.drop_to_postgres()
        self.drop_to_redis()
        self.drop_to_a()

    def heal(self) -> None:
        """Let all packets pass again."""
        self.a.host.restore_packets(BACK, self.database.postgres)
        self.a.host.restore_packets(BACK, self.database.redis)
        self.database.host.restore_packets(BACK, self.a.host.address(BACK))

    def drop_to_postgres(self) -> None:
        """Drop packets from a to Postgres; those from Postgres arrive."""
        self.a.host.drop_packets(BACK, self.database.postgres)

    def drop_to_redis(self) -> None:
        """Drop packets from a to Redis."""
        self.a.host.drop_packets(BACK, self.database.redis)

    def drop_to_a(self) -> None:
        """Drop packets from the database host to a; those from a arrive."""
        self.database.host.drop_packets(BACK, self.a.host.address(BACK))
