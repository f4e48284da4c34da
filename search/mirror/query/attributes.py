"""Filterable attributes of documents as arrays, for counting many documents by value at once."""

import json
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any, Final

import apsw
import numpy as np

from search.retrieval.fusion.copies import OutdatedDocuments
from search.retrieval.query.conditions import METADATA_PREFIX
from search.retrieval.query.metadata import Value, as_shown, fold_value
from search.retrieval.types import Sort

#: The attribute whose values are the names of these fields.
METADATA: Final = "metadata"
#: Number of the most common values of an attribute that are read; rarer ones count no document.
MAX_VALUES: Final = 2_000

_WORD_BITS: Final = 64

# Columns by the filter on them. Each value's rows come as one text: row by row, 100,000 take four times as
# long.
_COLUMNS: Final = {
    "source": "source_key",
    "media": "media",
    "lang": "lang",
    "trust_min": "trust_level",
    "version": "version_tag",
    "author": "author",
}
_BY_COLUMN = (
    "SELECT d.{column}, group_concat(d.doc) FROM documents d {where}"
    " GROUP BY d.{column} ORDER BY count(*) DESC, d.{column} LIMIT ?"
)
_BY_TAG = (
    "SELECT t.tag, group_concat(t.doc) FROM document_tags t {join} {where}"
    " GROUP BY t.tag ORDER BY count(*) DESC, t.tag LIMIT ?"
)
_BY_VALUE = (
    "SELECT v.value, group_concat(v.doc) FROM document_values v {join} WHERE v.name = ? {where}"
    " GROUP BY v.value ORDER BY count(*) DESC, v.value LIMIT ?"
)
# Without the names of times and folded texts, which end in a control character.
_BY_NAME = (
    "SELECT v.name, group_concat(v.doc) FROM document_values v {join} {where}"
    " GROUP BY v.name HAVING substr(v.name, -1) >= ' ' ORDER BY count(*) DESC, v.name LIMIT ?"
)
# Pages that replace one another.
_LONGEST_CHAIN: Final = 8
_OUTDATED = """
SELECT doc, min(coalesce(outdated_from, 9e999), coalesce(newer_from, 9e999)), coalesce(newer, 0), edition
FROM documents WHERE outdated_from IS NOT NULL OR newer IS NOT NULL ORDER BY doc
"""
# Attributes whose values differ by case.
_BY_SPELLING: Final = ("source", "version", METADATA)
_TAGGED = "JOIN documents d ON d.doc = t.doc"
_VALUED = "JOIN documents d ON d.doc = v.doc"
_OF_SOURCES = "d.source_key IN (SELECT value FROM json_each(?))"

_ORDERS: Final = {
    Sort.DATE: "is_dated DESC, dated_at DESC, doc",
    Sort.DATE_ASC: "is_dated DESC, dated_at, doc",
    Sort.TITLE: "sort_key, doc",
}
_IN_ORDER = "SELECT group_concat(doc) FROM (SELECT doc FROM documents ORDER BY {order})"


@dataclass(frozen=True, slots=True)
class DocumentLists:
    """The documents of each value in a list, for attributes with many values."""

    #: (m,) int64 rows of documents, those of one value after those of the one before.
    docs: np.ndarray
    #: (v,) int64, where the documents of each value begin; each has some.
    starts: np.ndarray

    def count(self, matching: np.ndarray) -> np.ndarray:
        """Return (v,) int64: of each value, how many documents are in `matching`, (n,) bool by row."""
        last = int(self.docs.max(initial=-1))
        if last >= len(matching):
            matching = np.pad(matching, (0, last + 1 - len(matching)))
        counts: np.ndarray = np.add.reduceat(matching[self.docs], self.starts, dtype=np.int64)
        return counts


@dataclass(frozen=True, slots=True)
class DocumentBits:
    """The documents of each value as bits, for attributes with few values: counting takes a tenth."""

    #: (v, w) uint64, a bit for each document by row.
    words: np.ndarray

    @staticmethod
    def of(lists: DocumentLists) -> "DocumentBits":
        """Create the bits of the documents in `lists`."""
        size = int(lists.docs.max(initial=-1)) + 1
        words = np.zeros((len(lists.starts), -(-size // _WORD_BITS)), np.uint64)
        for value, (start, end) in enumerate(pairwise([*lists.starts, len(lists.docs)])):
            words[value] = _pack(_mask(lists.docs[start:end]), words.shape[1])
        return DocumentBits(words)

    def count(self, matching: np.ndarray) -> np.ndarray:
        """Return (v,) int64: of each value, how many documents are in `matching`, (n,) bool by row."""
        found = np.bitwise_count(self.words & _pack(matching, self.words.shape[1]))
        counts: np.ndarray = found.sum(axis=1, dtype=np.int64)
        return counts


@dataclass(frozen=True, slots=True)
class Attribute:
    """The values of one attribute, and the documents that have each."""

    values: tuple[Value, ...]
    documents: DocumentLists | DocumentBits

    def counts(self, matching: np.ndarray) -> dict[Value, int]:
        """Count the documents in `matching`, (n,) bool by row, by value, without values of none."""
        if not self.values:
            return {}
        counts = self.documents.count(matching).tolist()
        return {value: count for value, count in zip(self.values, counts, strict=True) if count}


def read_outdated(connection: apsw.Connection) -> OutdatedDocuments:
    """Read the outdated documents of a mirror."""
    rows = list(connection.execute(_OUTDATED))
    docs, since, newer, editions = zip(*rows, strict=True) if rows else ((), (), (), ())
    newer_of = dict(zip(docs, newer, strict=True))
    for doc in docs:
        for _ in range(_LONGEST_CHAIN):
            newer_of[doc] = newer_of.get(newer_of[doc]) or newer_of[doc]
    newest = np.array([*newer_of.values()], np.int64)
    return OutdatedDocuments(np.array(docs, np.int64), np.array(since, np.float64), newest, editions)


def read_attribute(connection: apsw.Connection, keys: Sequence[str] | None, name: str) -> Attribute:
    """Read an attribute of the documents of the sources with these keys, of all documents for None.

    `name` is that of a filter, `metadata.` and the name of a field, or METADATA.
    """
    where = "" if keys is None else f"WHERE {_OF_SOURCES}"
    values: list[Any] = [] if keys is None else [json.dumps(keys)]
    if name in _COLUMNS:
        sql = _BY_COLUMN.format(column=_COLUMNS[name], where=where)
    elif name == "tags_any":
        sql = _BY_TAG.format(join="" if keys is None else _TAGGED, where=where)
    elif name == METADATA:
        sql = _BY_NAME.format(join="" if keys is None else _VALUED, where=where)
    else:
        values.insert(0, name.removeprefix(METADATA_PREFIX))
        narrowed = "" if keys is None else f"AND {_OF_SOURCES}"
        sql = _BY_VALUE.format(join="" if keys is None else _VALUED, where=narrowed)
    rows = connection.execute(sql, (*values, MAX_VALUES))
    found = [(value, np.fromstring(docs, np.int64, sep=",")) for value, docs in rows]
    if name == METADATA:
        # A document with several values of a field comes as often; DISTINCT and a sort take seconds.
        found = [(value, np.flatnonzero(_mask(docs))) for value, docs in found]
    return _build_attribute(found if name in _BY_SPELLING else _merge_spellings(found))


def _merge_spellings(found: Sequence[tuple[Value, np.ndarray]]) -> list[tuple[Value, np.ndarray]]:
    """Return the values with those as one that filters take for equal, in the spelling of most documents."""
    by_folded: dict[str, list[tuple[Value, np.ndarray]]] = {}
    for value, docs in found:
        by_folded.setdefault(fold_value(value), []).append((value, docs))
    return [
        spellings[0]
        if len(spellings) == 1
        else (
            min(spellings, key=lambda each: (-len(each[1]), str(as_shown(each[0]))))[0],
            np.unique(np.concatenate([docs for _, docs in spellings])),
        )
        for spellings in by_folded.values()
    ]


def read_order(connection: apsw.Connection, sort: Sort) -> np.ndarray:
    """Return the rows of all documents, (m,) int64, by date or by title."""
    listed = connection.execute(_IN_ORDER.format(order=_ORDERS[sort])).get
    return np.fromstring(listed or "", np.int64, sep=",")


def _build_attribute(found: Sequence[tuple[Value, np.ndarray]]) -> Attribute:
    docs = np.concatenate([docs for _, docs in found]) if found else np.empty(0, np.int64)
    lists = DocumentLists(docs, np.cumsum([0, *(len(docs) for _, docs in found)])[:-1])
    # Bits, if they take no more room.
    are_few = len(found) * int(docs.max(initial=0)) <= _WORD_BITS * len(docs)
    return Attribute(tuple(value for value, _ in found), DocumentBits.of(lists) if are_few else lists)


def _mask(docs: np.ndarray) -> np.ndarray:
    """Return (n,) bool by row, whether it is among `docs`; up to the last of these."""
    has = np.zeros(int(docs.max(initial=-1)) + 1, bool)
    has[docs] = True
    return has


def _pack(has: np.ndarray, word_count: int) -> np.ndarray:
    """Return (word_count,) uint64, the bits of `has`, (n,) bool, which are cut off or filled up."""
    packed = np.zeros(word_count * 8, np.uint8)
    found = np.packbits(has)[: len(packed)]
    packed[: len(found)] = found
    return packed.view(np.uint64)
