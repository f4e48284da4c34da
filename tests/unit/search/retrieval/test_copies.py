"""Copies of a text, and headings without text, in a ranked list."""

import numpy as np
import pytest

from search.retrieval.fusion.copies import HEADINGS_ALONE, NO_KEY, CopyKeys, fold_copies, lower_headings
from search.retrieval.fusion.legs import pack_ids, unpack_ids
from search.retrieval.fusion.ranking import Ranking
from search.retrieval.types import Mode

IDS = [f"{number:032x}" for number in range(1, 6)]


def ranking(scores, exact=None, mode=Mode.HYBRID):
    """Return a list of chunks 1, 2, 3, … with these scores and ranks in the list of names."""
    return Ranking(
        mode=mode,
        ids=pack_ids(IDS[: len(scores)]),
        scores=np.array(scores),
        ranks={} if exact is None else {"exact": np.array(exact)},
        results={},
        lists={},
        degraded=(),
        timings_ms={},
    )


def keys(texts, documents=None):
    return CopyKeys(
        texts=np.array(texts, np.uint64), documents=np.array(documents or range(1, len(texts) + 1))
    )


def test_list_without_copies_is_kept():
    found = ranking([0.9, 0.8, 0.7])
    assert fold_copies(found, keys([NO_KEY, NO_KEY, 77])) == (found, {})


def test_first_of_equal_texts_stands_for_the_others():
    folded, copies = fold_copies(ranking([0.9, 0.8, 0.7, 0.6]), keys([77, 88, 77, 77]))
    assert unpack_ids(folded.ids) == [IDS[0], IDS[1]]
    assert copies == {IDS[0]: (IDS[2], IDS[3])}


def test_copies_in_one_document_are_kept_together():
    # The second text comes first in document 2, but document 1 comes first in the list.
    folded, copies = fold_copies(ranking([0.9, 0.8, 0.7, 0.6]), keys([77, 88, 88, 77], [1, 2, 1, 2]))
    assert unpack_ids(folded.ids) == [IDS[0], IDS[2]]
    assert copies == {IDS[0]: (IDS[3],), IDS[2]: (IDS[1],)}


def test_headings_without_text_have_half_their_score():
    lowered, of = lower_headings(ranking([0.9, 0.8, 0.4]), keys([HEADINGS_ALONE, 77, 88]))
    assert unpack_ids(lowered.ids) == [IDS[1], IDS[0], IDS[2]]
    assert lowered.scores.tolist() == [0.8, 0.45, 0.4]
    assert of.texts.tolist() == [77, HEADINGS_ALONE, 88]


@pytest.mark.parametrize("given", [{"exact": [1, 0]}, {"mode": Mode.LEXICAL}])
def test_headings_stay_where_their_name_was_found_and_in_a_single_leg(given):
    found = ranking([0.9, 0.8], **given)
    assert lower_headings(found, keys([HEADINGS_ALONE, 77]))[0] is found
