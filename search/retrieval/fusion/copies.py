"""Copies: chunks of the same text, of which only one is a hit."""

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from search.retrieval.fusion.legs import unpack_ids
from search.retrieval.fusion.ranking import Ranking


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class CopyKeys:
    """Keys that tell copies among `m` chunks."""

    #: (m,) uint64: equal for equal texts; 0 for a text that is unknown, or too short to be a copy.
    texts: np.ndarray
    #: (m,) int64: the row of each document.
    documents: np.ndarray


def fold_copies(ranking: Ranking, keys: CopyKeys) -> tuple[Ranking, Mapping[str, tuple[str, ...]]]:
    """Return the list with one chunk of each text, and the ids of its copies by its own, best first.

    Of copies the one in the document that the list has first is kept, so that documents of the same
    text become one.
    """
    places = np.arange(len(ranking))
    texts = np.where(keys.texts == 0, places, keys.texts)
    _, numbers, counts = np.unique(texts, return_inverse=True, return_counts=True)
    if len(counts) == len(places):
        return ranking, {}
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
