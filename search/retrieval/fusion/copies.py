"""Chunks that repeat the text of others, chunks without text of their own, and those of outdated pages."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import Final

import numpy as np

from search.retrieval.fusion.legs import unpack_ids
from search.retrieval.fusion.ranking import Ranking
from search.retrieval.types import Mode

#: Keys of a text that is unknown or too short to be a copy, and of one that has nothing but headings.
NO_KEY: Final = 0
HEADINGS_ALONE: Final = 1
# Headings without text match a query as well as any, and answer nothing.
_HEADINGS_FACTOR = 0.5
_OUTDATED_FACTOR = 0.5


@dataclass(frozen=True, slots=True, eq=False)
class OutdatedDocuments:
    """The documents that are outdated, now or from some time on: see `search.retrieval.outdated`."""

    #: (m,) int64 rows of documents, ascending.
    docs: np.ndarray
    #: (m,) float64, when each becomes outdated, in seconds since 1970.
    since: np.ndarray
    #: (m,) int64 rows of what replaces each, 0 if that is unknown.
    newer: np.ndarray
    #: The edition of each, '' for none.
    editions: tuple[str, ...]

    def places(self, docs: np.ndarray, now: float) -> np.ndarray:
        """Return (n,) int64, the place here of each of the documents, (n,) int64; -1 if it is current.

        There must be some.
        """
        found = np.searchsorted(self.docs, docs).clip(max=len(self.docs) - 1)
        is_outdated = (self.docs[found] == docs) & (self.since[found] <= now)
        return np.where(is_outdated, found, -1)


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class CopyKeys:
    """Keys that tell copies among `m` chunks."""

    #: (m,) uint64: equal for equal texts; NO_KEY, or HEADINGS_ALONE.
    texts: np.ndarray
    #: (m,) int64: the row of each document.
    documents: np.ndarray
    #: The outdated documents; None if there are none.
    outdated: OutdatedDocuments | None = None

    def take(self, positions: np.ndarray) -> "CopyKeys":
        """Return the keys at these positions."""
        return replace(self, texts=self.texts[positions], documents=self.documents[positions])


def lower_headings(ranking: Ranking, keys: CopyKeys) -> tuple[Ranking, CopyKeys]:
    """Return the fused list with headings without text at half their score, except where names were found."""
    is_lower = keys.texts == HEADINGS_ALONE
    if "exact" in ranking.ranks:
        is_lower &= ranking.ranks["exact"] == 0
    if ranking.mode is not Mode.HYBRID or not is_lower.any():
        return ranking, keys
    scores = np.where(is_lower, _HEADINGS_FACTOR * ranking.scores, ranking.scores)
    order = np.argsort(-scores, kind="stable")
    return ranking.take(order, scores[order]), keys.take(order)


def lower_outdated(
    ranking: Ranking,
    keys: CopyKeys,
    *,
    is_asked_for: Callable[[str], bool],
    now: float,
) -> tuple[Ranking, CopyKeys, Mapping[str, tuple[str, ...]]]:
    """Return the list with outdated pages marked and at half their score, or without them.

    One is left out if what replaces it is in the list: its best chunk is in the last value, by the id of each
    chunk of that. An edition that the query asks for is only marked.
    """
    outdated = keys.outdated
    if outdated is None:
        return ranking, keys, {}
    places = outdated.places(keys.documents, now)
    found = np.unique(places[places >= 0]).tolist()
    if not found:
        return ranking, keys, {}
    ranking = replace(ranking, is_outdated=places >= 0)
    lowered = [place for place in found if not is_asked_for(outdated.editions[place])]
    is_lower = np.isin(places, lowered)
    newer = np.where(is_lower, outdated.newer[places], -1)
    is_folded = np.isin(newer, keys.documents[~is_lower])
    older: dict[str, tuple[str, ...]] = {}
    ids = unpack_ids(ranking.ids)
    for document in np.unique(newer[is_folded]):
        _, firsts = np.unique(np.where(newer == document, places, -1), return_index=True)
        best = tuple(ids[place] for place in sorted(firsts) if newer[place] == document)
        older |= {ids[place]: best for place in np.flatnonzero(keys.documents == document)}
    # A vector's score is (1 + cosine) / 2.
    base = 0.5 if ranking.mode is Mode.VECTOR else 0.0
    scores = np.where(is_lower, base + _OUTDATED_FACTOR * (ranking.scores - base), ranking.scores)
    order = np.lexsort((-scores, ranking.tiers))
    order = order[~is_folded[order]]
    return ranking.take(order, scores[order]), keys.take(order), older


def fold_copies(ranking: Ranking, keys: CopyKeys) -> tuple[Ranking, Mapping[str, tuple[str, ...]]]:
    """Return the list with one chunk of each text, and the ids of its copies by its own, best first.

    Of copies the one in the document that the list has first is kept, so that documents of the same
    text become one.
    """
    places = np.arange(len(ranking))
    texts = np.where(keys.texts <= HEADINGS_ALONE, places, keys.texts)
    if len(set(texts.tolist())) == len(places):
        return ranking, {}
    _, numbers, counts = np.unique(texts, return_inverse=True, return_counts=True)
    _, firsts, documents = np.unique(keys.documents, return_index=True, return_inverse=True)
    # By text, then by the first place of the document, then by place.
    order = np.lexsort((places, firsts[documents], numbers))
    kept = order[np.cumsum(counts) - counts]
    ids = unpack_ids(ranking.ids)
    copies: dict[str, tuple[str, ...]] = {}
    for number in np.flatnonzero(counts > 1):
        same = np.flatnonzero(numbers == number)
        copies[ids[kept[number]]] = tuple(ids[place] for place in same if place != kept[number])
    return ranking.take(np.sort(kept)), copies
