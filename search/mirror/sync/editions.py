"""Relations of pages to the newer ones that replace them, kept while documents are written into a mirror."""

import json
import time
from dataclasses import dataclass
from os.path import commonpath
from typing import Any, Final

import apsw

from search.retrieval.outdated import NEVER, are_alike, is_newer, newer_from

# Editions of one title, and text of each, that are compared.
_MOST: Final = 50
_MAX_CHUNKS: Final = 20
_NAMES = "SELECT family, source_key, doc_id, title_key, name_key FROM documents WHERE doc_id = ?"
# Of each family that has an edition or an outdated page, and of the pages that name one of the documents.
_CONCERNED = """
SELECT e.doc FROM json_each(:families) f
JOIN documents e ON e.family = f.value ->> 0 AND e.source_key = f.value ->> 1
WHERE EXISTS (
    SELECT 1 FROM documents d WHERE d.family = e.family AND d.source_key = e.source_key AND d.family <> ''
    AND (d.edition <> '' OR d.outdated_from IS NOT NULL OR d.newer IS NOT NULL)
)
UNION SELECT d.doc FROM json_each(:names) n JOIN documents d ON d.successor = n.value AND d.successor <> ''
UNION SELECT d.doc FROM json_each(:ids) i JOIN documents d ON d.doc_id = i.value WHERE d.successor <> ''
"""
_COLUMNS = (
    "doc, source_key, family, edition, iif(is_dated, dated_at, NULL), outdated_from, successor, path,"
    " doc_id = ?1 AS is_named"
)
_ONE = f"SELECT {_COLUMNS} FROM documents WHERE doc = ?1"  # noqa: S608 - constants
_FAMILY = (
    f"SELECT {_COLUMNS} FROM documents WHERE family = ?2 AND family <> '' AND source_key = ?3"  # noqa: S608
    " ORDER BY edition = '' DESC, doc DESC LIMIT ?4"
)
_STATED = (
    f"SELECT {_COLUMNS} FROM documents WHERE doc_id = ?1"  # noqa: S608
    " OR source_key = ?3 AND (title_key = ?1 OR name_key = ?1) LIMIT ?4"
)
_TEXTS = "SELECT f.text FROM chunks c JOIN chunks_fts f ON f.rowid = c.chunk WHERE c.doc = ? LIMIT ?"
_RELATE = "UPDATE documents SET newer = ?2, newer_from = ?3 WHERE doc = ?1"


@dataclass(frozen=True, slots=True)
class _Page:
    """A document that may replace another one, or be replaced."""

    doc: int
    source_key: str
    family: str
    edition: str
    dated_at: float | None
    outdated_from: float | None
    successor: str
    path: str
    #: Whether its id is the one that is stated.
    is_named: int

    def is_newer_than(self, other: "_Page", now: float) -> bool:
        """Return whether it is the newer one of two of a family, or the only one that is not outdated."""
        if is_newer(self.edition, self.dated_at, other.edition, other.dated_at):
            return True
        return other.is_outdated(now) and other.edition in ("", self.edition)

    def is_outdated(self, now: float) -> bool:
        """Return whether it says that it is outdated by now."""
        return self.outdated_from is not None and self.outdated_from <= now


class Editions:
    """The pages whose relations a transaction may change; call `relate` when all are written."""

    def __init__(self, connection: apsw.Connection) -> None:
        self._connection = connection
        self._families: set[tuple[str, str]] = set()
        self._names: set[str] = set()
        self._ids: set[str] = set()

    def note(self, doc_id: str) -> None:
        """Note a document before it is written or deleted."""
        for row in _rows(self._connection.execute(_NAMES, (doc_id,))):
            self.add(*row)

    def add(self, family: str, source_key: str, doc_id: str, *names: str) -> None:
        """Note a document with its family and what pages that it replaces may call it."""
        self._families.add((family, source_key))
        self._names.update((doc_id, *names))
        self._ids.add(doc_id)

    def relate(self) -> None:
        """Find the newer page of each document that what was written concerns."""
        given = {
            "families": json.dumps(list(self._families)),
            "names": json.dumps(list(self._names)),
            "ids": json.dumps(list(self._ids)),
        }
        for (doc,) in self._connection.execute(_CONCERNED, given).fetchall():
            (row,) = _rows(self._connection.execute(_ONE, (doc,)))
            self._connection.execute(_RELATE, (doc, *self._find_newer(_Page(*row))))

    def _find_newer(self, page: _Page) -> tuple[int | None, float | None]:
        """Return the document that replaces a page, and from when on."""
        if page.outdated_from == NEVER:
            return None, None
        if page.successor and (stated := self._read(_STATED, page)):
            return stated[0].doc, 0.0
        newest, now = page, time.time()
        for other in self._read(_FAMILY, page):
            if (
                not other.is_outdated(now)
                and other.is_newer_than(newest, now)
                and self._are_alike(page, other)
            ):
                newest = other
        return (None, None) if newest is page else (newest.doc, newer_from(newest.edition))

    def _read(self, sql: str, page: _Page) -> list[_Page]:
        """Return the pages that may replace one, the one that it names and those near it first."""
        values = (page.successor, page.family, page.source_key, _MOST)
        found = (_Page(*row) for row in _rows(self._connection.execute(sql, values)))
        others = [other for other in found if other.doc != page.doc]
        return sorted(others, key=lambda each: (-each.is_named, -len(commonpath([each.path, page.path]))))

    def _are_alike(self, page: _Page, other: _Page) -> bool:
        texts = (
            " ".join(text for (text,) in self._connection.execute(_TEXTS, (each.doc, _MAX_CHUNKS)))
            for each in (page, other)
        )
        return are_alike(*texts)


def _rows(found: apsw.Cursor) -> list[Any]:
    return found.fetchall()
