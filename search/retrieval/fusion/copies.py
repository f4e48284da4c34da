"""Chunks that repeat the text of others, and chunks without text of their own."""

from collections.abc import Mapping
from dataclasses import dataclass
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


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class CopyKeys:
    """Keys that tell copies among `m` chunks."""

    #: (m,) uint64: equal for equal texts; NO_KEY, or HEADINGS_ALONE.
    texts: np.ndarray
    #: (m,) int64: the row of each document.
    documents: np.ndarray

    def take(self, positions: np.ndarray) -> "CopyKeys":
        """Return the keys at these positions."""
        return CopyKeys(texts=self.texts[positions], documents=self.documents[positions])


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
