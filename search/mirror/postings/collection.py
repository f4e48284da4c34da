"""What is ranked among what: all chunks of a mirror, or those of the sources that a reader may read.

Where some sources are hidden from the reader, everything that counts chunks counts the others alone: a word
that stands in hidden sources only is then as if it stood nowhere, and no score tells of them.
"""

import json
from collections import Counter, OrderedDict
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from threading import Lock

import apsw
import numpy as np

from search.mirror.postings.entries import ENTRY, Postings, are_among, rows_of
from search.mirror.postings.read import ChunkTable, read_chunk_table, read_entries, read_postings
from search.mirror.postings.recent import RecentUnits
from search.mirror.postings.score import Contribution, of_phrase, of_word
from search.mirror.query.attributes import Attributes, read_attributes

_OF_SOURCES = "SELECT doc FROM documents WHERE source_key IN (SELECT value FROM json_each(?))"
_MAIN_LANGUAGE = "SELECT lang FROM documents GROUP BY lang ORDER BY count(*) DESC, lang LIMIT 1"
_MAIN_LANGUAGE_OF = (
    "SELECT lang FROM documents WHERE source_key IN (SELECT value FROM json_each(?))"
    " GROUP BY lang ORDER BY count(*) DESC, lang LIMIT 1"
)
# A blob's length is known without reading it.
_SIZES = (
    "SELECT p.term, length(p.entries) FROM parts q CROSS JOIN json_each(?) t CROSS JOIN postings p"
    " ON p.part = q.part AND p.term = t.value"
)

# Entries of what was asked for last that are kept for each row.
_KEPT_PER_ROW = 16


@dataclass(frozen=True, slots=True)
class Collection:
    """The chunks that a query is ranked among, with what the index says of them."""

    #: Rows that don't belong to it have none of its chunks.
    chunks: ChunkTable
    #: (n,) bool, whether each row belongs to it; None: it is the whole mirror.
    members: np.ndarray | None = None
    #: Of the sources that it is of; None: of all.
    keys: tuple[str, ...] | None = None
    recent: RecentUnits = field(init=False, compare=False)
    # Once it was asked for: to count all documents takes milliseconds.
    _main_language: list[str] = field(default_factory=list, init=False, compare=False)
    _attributes: list[Attributes] = field(default_factory=list, init=False, compare=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "recent", RecentUnits(_KEPT_PER_ROW * len(self.chunks.docs)))

    @staticmethod
    def of_sources(connection: apsw.Connection, whole: ChunkTable, keys: Sequence[str]) -> "Collection":
        """Return the chunks of the sources with these keys."""
        belongs = np.zeros(int(whole.docs.max(initial=0)) + 1, bool)
        rows = connection.execute(_OF_SOURCES, (json.dumps(keys),))
        docs = np.fromiter((doc for (doc,) in rows), np.int64)
        belongs[docs[docs < len(belongs)]] = True
        members = belongs[whole.docs]
        members &= whole.docs != 0
        docs, lengths = (np.where(members, column, 0) for column in (whole.docs, whole.lengths))
        return Collection(ChunkTable.of(lengths, docs, whole.kinds), members, tuple(keys))

    def main_language(self, connection: apsw.Connection) -> str:
        """Return the language that most of its documents are in; '' without any document."""
        if not self._main_language:
            asked = _MAIN_LANGUAGE if self.keys is None else _MAIN_LANGUAGE_OF
            rows = connection.execute(asked, () if self.keys is None else (json.dumps(self.keys),))
            self._main_language.append(next((str(language) for (language,) in rows), ""))
        return self._main_language[0]

    def attributes(self, connection: apsw.Connection) -> Attributes:
        """Return what filters look at of its documents; read once."""
        if not self._attributes:
            self._attributes.append(read_attributes(connection, self.keys))
        return self._attributes[0]

    def words(
        self, connection: apsw.Connection, words: Iterable[tuple[str, ...]], weights: tuple[float, float]
    ) -> dict[tuple[str, ...], Contribution]:
        """Return what each of `words` adds, of whose terms any will do. Raises MirrorDamaged.

        `weights` are those of breadcrumb and text.
        """
        wanted = {(terms, weights) for terms in words}
        found = self.recent.known(wanted)
        missing = wanted - found.keys()
        if missing:
            postings = self._postings(connection, {term for terms, _ in missing for term in terms})
            made = {
                (terms, weights): of_word(
                    self.chunks, weights, [postings[term] for term in terms if term in postings]
                )
                for terms, _ in missing
            }
            self.recent.keep(made)
            found |= made
        return {terms: contribution for (terms, _), contribution in found.items()}

    def phrase(
        self,
        expression: str,
        weights: tuple[float, float],
        matches: Callable[[], Sequence[tuple[int, float]]],
    ) -> Contribution:
        """Return what the phrase of an expression adds; where that isn't known, `matches` asks FTS5."""
        key = ((expression,), weights)
        found = self.recent.known([key])
        if not found:
            found = {key: of_phrase(matches())}
            self.recent.keep(found)
        return found[key]

    def _postings(self, connection: apsw.Connection, terms: Iterable[str]) -> dict[str, Postings]:
        found = read_postings(connection, terms)
        if self.members is None:
            return found
        narrowed = {term: postings.among(self.members) for term, postings in found.items()}
        return {term: postings for term, postings in narrowed.items() if len(postings)}

    def frequencies(self, connection: apsw.Connection, terms: Iterable[str]) -> dict[str, int]:
        """Return how many of its chunks have each of `terms`, without those that none has.

        In one statement. Raises MirrorDamaged.
        """
        counts: Counter[str] = Counter()
        if self.members is None:
            for term, size_bytes in connection.execute(_SIZES, (json.dumps(sorted(set(terms))),)):
                counts[term] += size_bytes // ENTRY.itemsize
        else:
            for term, entries in read_entries(connection, terms):
                counts[term] += int(np.count_nonzero(are_among(rows_of(entries), self.members)))
        return {term: count for term, count in counts.items() if count}


class RecentCollections:
    """The collections that this process ranked among last, each by its file, the change it shows and the keys
    of its sources: who reads the same sources has the same.

    Reading the table of 125,000 chunks takes longer than scoring a query with it: 1.5 of 2.4 ms.
    """

    def __init__(self, max_rows: int = 1_000_000) -> None:
        """`max_rows` bounds all tables together; a row takes 18 bytes, and 128 for words that are kept;
        what filters look at takes another 100 a document, once it was asked for.
        """
        self._max_rows = max_rows
        self._collections: OrderedDict[_Key, Collection] = OrderedDict()
        self._lock = Lock()

    def get(self, connection: apsw.Connection, seq: int, keys: tuple[str, ...] | None = None) -> Collection:
        """Return the collection of the sources with these keys, or the whole mirror without any.

        `seq` is the change that the connection's transaction shows. Raises MirrorDamaged.
        """
        key = (connection.filename, seq, keys)
        with self._lock:
            known = self._collections.get(key)
            if known is not None:
                self._collections.move_to_end(key)
                return known
        if keys is None:
            made = Collection(read_chunk_table(connection))
        else:
            made = Collection.of_sources(connection, self.get(connection, seq).chunks, keys)
        with self._lock:
            self._keep(key, made)
        return made

    def _keep(self, key: "_Key", made: Collection) -> None:
        for outdated in list(self._outdated(key)):
            del self._collections[outdated]
        self._collections[key] = made
        while self._rows() > self._max_rows and (dropped := self._least_wanted(key)) is not None:
            del self._collections[dropped]

    def _least_wanted(self, key: "_Key") -> "_Key | None":
        """Narrowed ones before whole mirrors, from which they are made, and of these the oldest."""
        kept = (key, (key[0], key[1], None))
        others = [each for each in self._collections if each not in kept]
        return min(others, key=lambda each: each[2] is None, default=None)

    def _outdated(self, key: "_Key") -> Iterator["_Key"]:
        return (each for each in self._collections if each[0] == key[0] and each[1] < key[1])

    def _rows(self) -> int:
        return sum(len(each.chunks.docs) for each in self._collections.values())


_Key = tuple[str, int, tuple[str, ...] | None]
