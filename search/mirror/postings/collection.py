"""Collections that queries are ranked in: all chunks of a mirror, or those of the sources a reader may read.

Where some sources are hidden from the reader, all counts are over the other sources only: a word that occurs
in hidden sources only counts as absent, and no score reveals them.
"""

import json
from collections import Counter, OrderedDict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from threading import Lock

import apsw
import numpy as np

from search.analysis.stems import languages_of
from search.mirror.postings.entries import (
    ENTRY,
    ChunkTable,
    Postings,
    are_among,
    entry_rows,
    read_chunk_table,
    read_entries,
    read_postings,
)
from search.mirror.postings.predicate import chunks_meeting
from search.mirror.postings.score import Contribution, phrase_contribution, word_contribution
from search.mirror.query.attributes import Attribute, read_attribute, read_order, read_outdated
from search.retrieval.fusion.copies import OutdatedDocuments
from search.retrieval.query.conditions import Comparison, Condition
from search.retrieval.types import Sort

#: The alternative index terms of a word, or a phrase's expression, and the weights of breadcrumb and text.
Key = tuple[tuple[str, ...], tuple[float, float]]


class ContributionCache:
    """An LRU cache of contributions in one state of one collection. Safe for threads."""

    def __init__(self, max_entries: int) -> None:
        """Create a cache; `max_entries` bounds all lists. An entry takes 8 bytes, with its score 12 to 16."""
        self._max_entries = max_entries
        self._entries = 0
        self._contributions: OrderedDict[Key, Contribution] = OrderedDict()
        self._lock = Lock()

    def get(self, keys: Iterable[Key]) -> dict[Key, Contribution]:
        """Return the cached contributions of `keys`."""
        with self._lock:
            found = {key: self._contributions[key] for key in keys if key in self._contributions}
            for key in found:
                self._contributions.move_to_end(key)
        return found

    def put(self, contributions: Mapping[Key, Contribution]) -> None:
        """Add contributions, and evict the least recently used."""
        with self._lock:
            for key, contribution in contributions.items():
                if key not in self._contributions:
                    self._contributions[key] = contribution
                    self._entries += max(1, len(contribution))  # an empty one takes room, too
            while self._entries > self._max_entries:
                _, evicted = self._contributions.popitem(last=False)
                self._entries -= max(1, len(evicted))


_LANGUAGES = "SELECT lang, count(*) FROM documents{condition} GROUP BY lang ORDER BY count(*) DESC, lang"
_OF_SOURCES = " WHERE source_key IN (SELECT value FROM json_each(?))"
# A blob's length is known without reading it.
_SIZES = (
    "SELECT p.term, length(p.entries) FROM parts q CROSS JOIN json_each(?) t CROSS JOIN postings p"
    " ON p.part = q.part AND p.term = t.value"
)

# Entries of recent contributions that are cached, per row of the collection.
_KEPT_PER_ROW = 12
# Recent conditions whose chunks are cached, a byte per chunk each.
_KEPT_MASKS = 16
# Attributes that are cached, some 16 bytes per document each.
_KEPT_ATTRIBUTES = 24


@dataclass(frozen=True, slots=True)
class Collection:
    """The chunks that a query is ranked among, with index data about them."""

    #: Rows outside the collection belong to document 0.
    chunks: ChunkTable
    #: (n,) bool, whether each row belongs to the collection; None for the whole mirror.
    members: np.ndarray | None = None
    #: Keys of its sources; None for all sources.
    keys: tuple[str, ...] | None = None
    contribution_cache: ContributionCache = field(init=False, compare=False)
    # Of its documents, the most frequent one first. Computed on first use: counting takes milliseconds.
    _languages: dict[str, int] = field(default_factory=dict, init=False, compare=False)
    _stemmed: list[str | None] = field(default_factory=list, init=False, compare=False)
    _attributes: dict[str, Attribute] = field(default_factory=dict, init=False, compare=False)
    _outdated: list[OutdatedDocuments] = field(default_factory=list, init=False, compare=False)
    _orders: dict[Sort, np.ndarray] = field(default_factory=dict, init=False, compare=False)
    _masks: OrderedDict[Condition, np.ndarray] = field(default_factory=OrderedDict, init=False, compare=False)

    def __post_init__(self) -> None:
        object.__setattr__(
            self, "contribution_cache", ContributionCache(_KEPT_PER_ROW * len(self.chunks.docs))
        )

    @staticmethod
    def of_sources(connection: apsw.Connection, whole: ChunkTable, keys: Sequence[str]) -> "Collection":
        """Return the collection of the chunks of the sources with these keys."""
        of_sources = Comparison(field="source", test="one_of", values=tuple(keys))
        members = chunks_meeting(connection, whole, of_sources) & (whole.docs != 0)
        docs, lengths = (np.where(members, column, 0) for column in (whole.docs, whole.lengths))
        return Collection(
            ChunkTable.of(lengths, docs, whole.kinds, whole.ids, whole.text_keys), members, tuple(keys)
        )

    def main_language(self, connection: apsw.Connection) -> str:
        """Return the language of most of its documents; '' without any document."""
        return next(iter(self.document_languages(connection)), "")

    def languages(self, connection: apsw.Connection) -> str | None:
        """Return the languages of its documents that have stems of their own, as `languages_of` does."""
        if not self._stemmed:
            self._stemmed.append(languages_of(self.document_languages(connection)))
        return self._stemmed[0]

    def document_languages(self, connection: apsw.Connection) -> Mapping[str, int]:
        """Return the number of its documents by language, as it is stored, the most frequent first."""
        if not self._languages:
            sql = _LANGUAGES.format(condition="" if self.keys is None else _OF_SOURCES)
            rows = connection.execute(sql, () if self.keys is None else (json.dumps(self.keys),))
            self._languages.update((str(language), int(documents)) for language, documents in rows)
        return self._languages

    def mask(self, connection: apsw.Connection, condition: Condition) -> np.ndarray:
        """Return (n,) bool, whether each row's chunk meets the condition; those of late are cached."""
        mask = self._masks.get(condition)
        if mask is None:
            mask = self._masks[condition] = chunks_meeting(connection, self.chunks, condition)
            while len(self._masks) > _KEPT_MASKS:
                with suppress(KeyError):  # another thread has dropped it
                    self._masks.popitem(last=False)
        return mask

    def attribute(self, connection: apsw.Connection, name: str) -> Attribute:
        """Return an attribute of its documents, as `read_attribute` names it; read once."""
        if name not in self._attributes:
            if len(self._attributes) >= _KEPT_ATTRIBUTES:
                self._attributes.clear()
            self._attributes[name] = read_attribute(connection, self.keys, name)
        return self._attributes[name]

    def outdated(self, connection: apsw.Connection) -> OutdatedDocuments:
        """Return the mirror's outdated documents; read once."""
        if not self._outdated:
            self._outdated.append(read_outdated(connection))
        return self._outdated[0]

    def document_order(self, connection: apsw.Connection, sort: Sort) -> np.ndarray:
        """Return the rows of the mirror's documents in an order of `read_order`; read once."""
        if sort not in self._orders:
            self._orders[sort] = read_order(connection, sort)
        return self._orders[sort]

    def score_words(
        self, connection: apsw.Connection, words: Iterable[tuple[str, ...]], weights: tuple[float, float]
    ) -> dict[tuple[str, ...], Contribution]:
        """Return the contribution of each of `words`, a tuple of alternative terms. Raises MirrorDamaged.

        `weights` are those of breadcrumb and text.
        """
        units = {(terms, weights) for terms in words}
        found = self.contribution_cache.get(units)
        missing = units - found.keys()
        if missing:
            postings = self._read_postings(connection, {term for terms, _ in missing for term in terms})
            new = {
                (terms, weights): word_contribution(
                    self.chunks, weights, [postings[term] for term in terms if term in postings]
                )
                for terms, _ in missing
            }
            self.contribution_cache.put(new)
            found |= new
        return {terms: contribution for (terms, _), contribution in found.items()}

    def score_phrase(
        self,
        expression: str,
        weights: tuple[float, float],
        matches: Callable[[], Sequence[tuple[int, float]]],
    ) -> Contribution:
        """Return the contribution of a phrase expression; `matches` queries FTS5 if it isn't cached."""
        key = ((expression,), weights)
        found = self.contribution_cache.get([key])
        if not found:
            rows = matches()
            if self.members is not None:  # else what the reader may not see would count in its rarity
                rows = [each for each in rows if self.members[each[0]]]
            found = {key: phrase_contribution(rows)}
            self.contribution_cache.put(found)
        return found[key]

    def _read_postings(self, connection: apsw.Connection, terms: Iterable[str]) -> dict[str, Postings]:
        found = read_postings(connection, terms)
        if self.members is None:
            return found
        narrowed = {term: postings.among(self.members) for term, postings in found.items()}
        return {term: postings for term, postings in narrowed.items() if len(postings)}

    def frequencies(self, connection: apsw.Connection, terms: Iterable[str]) -> dict[str, int]:
        """Return the number of its chunks with each of `terms`, without terms of none, in one statement.

        Raises MirrorDamaged.
        """
        counts: Counter[str] = Counter()
        if self.members is None:
            for term, size_bytes in connection.execute(_SIZES, (json.dumps(sorted(set(terms))),)):
                counts[term] += size_bytes // ENTRY.itemsize
        else:
            for term, entries in read_entries(connection, terms):
                counts[term] += int(np.count_nonzero(are_among(entry_rows(entries), self.members)))
        return {term: count for term, count in counts.items() if count}


class CollectionCache:
    """A cache of recent collections by file, last applied change and keys of the sources.

    Readers of the same sources share a collection. Reading the table of 125,000 chunks takes longer than
    scoring a query with it: 1.5 of 2.4 ms.
    """

    def __init__(self, max_rows: int = 1_000_000) -> None:
        """Create a cache; `max_rows` bounds all tables together.

        A row takes 42 bytes, and up to 160 for cached contributions and conditions; attributes take another
        100 bytes per document once they are used.
        """
        self._max_rows = max_rows
        self._collections: OrderedDict[_Key, Collection] = OrderedDict()
        self._lock = Lock()

    def get(self, connection: apsw.Connection, seq: int, keys: tuple[str, ...] | None = None) -> Collection:
        """Return the collection of the sources with these keys, or of the whole mirror for None.

        `seq` is the last change that the connection's transaction shows. Raises MirrorDamaged.
        """
        key = (connection.filename, seq, keys)
        with self._lock:
            known = self._collections.get(key)
            if known is not None:
                self._collections.move_to_end(key)
                return known
        if keys is None:
            new = Collection(read_chunk_table(connection))
        else:
            new = Collection.of_sources(connection, self.get(connection, seq).chunks, keys)
        with self._lock:
            self._store(key, new)
        return new

    def _store(self, key: "_Key", new: Collection) -> None:
        for outdated in list(self._outdated_keys(key)):
            del self._collections[outdated]
        self._collections[key] = new
        while self._total_rows() > self._max_rows and (evicted := self._next_to_evict(key)) is not None:
            del self._collections[evicted]

    def _next_to_evict(self, key: "_Key") -> "_Key | None":
        """Return the oldest narrowed collection, else the oldest whole mirror; whole ones are their base."""
        retained = (key, (key[0], key[1], None))
        others = [each for each in self._collections if each not in retained]
        return min(others, key=lambda each: each[2] is None, default=None)

    def _outdated_keys(self, key: "_Key") -> Iterator["_Key"]:
        return (each for each in self._collections if each[0] == key[0] and each[1] < key[1])

    def _total_rows(self) -> int:
        return sum(len(each.chunks.docs) for each in self._collections.values())


_Key = tuple[str, int, tuple[str, ...] | None]
