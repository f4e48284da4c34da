"""Relations of pages to the newer ones that replace them, kept while documents are written into a mirror."""

import json
import time
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Final

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
_COLUMNS = "doc, source_key, family, edition, iif(is_dated, dated_at, NULL), outdated_from, successor"
_ONE = f"SELECT {_COLUMNS} FROM documents WHERE doc = ?"  # noqa: S608 - constants
_FAMILY = (
    f"SELECT {_COLUMNS} FROM documents WHERE family = ? AND family <> '' AND source_key = ?"  # noqa: S608
    " ORDER BY edition = '' DESC, doc DESC LIMIT ?"
)
_STATED = """
SELECT doc FROM documents WHERE doc <> :doc AND (
    doc_id = :key OR source_key = :source AND (title_key = :key OR name_key = :key)
) ORDER BY doc_id = :key DESC, edition = '' DESC, doc LIMIT 1
"""
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
        """Note a document, before and after it is written."""
        for family, source_key, *names in self._connection.execute(_NAMES, (doc_id,)):
            self._families.add((family, source_key))
            self._names.update(names)
            self._ids.add(doc_id)

    def relate(self) -> None:
        """Find the newer page of each document that what was written concerns."""
        given = {
            "families": json.dumps(list(self._families)),
            "names": json.dumps(list(self._names)),
            "ids": json.dumps(list(self._ids)),
        }
        for (doc,) in self._connection.execute(_CONCERNED, given).fetchall():
            (page,) = self._read(_ONE, doc)
            self._connection.execute(_RELATE, (doc, *self._find_newer(page)))

    def _find_newer(self, page: _Page) -> tuple[int | None, float | None]:
        """Return the document that replaces a page, and from when on."""
        if page.outdated_from == NEVER:
            return None, None
        key = {"doc": page.doc, "key": page.successor, "source": page.source_key}
        stated = self._connection.execute(_STATED, key).get if page.successor else None
        if stated is not None:
            return stated, 0.0
        newest: _Page | None = None
        now = time.time()
        for other in self._read(_FAMILY, page.family, page.source_key, _MOST):
            if other.doc == page.doc or other.is_outdated(now) or not other.is_newer_than(page, now):
                continue
            if (newest is None or other.is_newer_than(newest, now)) and self._are_alike(page, other):
                newest = other
        return (None, None) if newest is None else (newest.doc, newer_from(newest.edition))

    def _are_alike(self, page: _Page, other: _Page) -> bool:
        texts = (
            " ".join(text for (text,) in self._connection.execute(_TEXTS, (each.doc, _MAX_CHUNKS)))
            for each in (page, other)
        )
        return are_alike(*texts)

    def _read(self, sql: str, *values: object) -> Iterable[_Page]:
        return [_Page(*row) for row in self._connection.execute(sql, values)]
