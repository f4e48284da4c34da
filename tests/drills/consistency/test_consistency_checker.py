"""The checker reports each violation in hand-written histories, and nothing in a correct one."""

from dataclasses import replace
from math import inf

import pytest

from tests.drills.consistency.checker import CLAIMS, violations
from tests.drills.consistency.history import History, Read, Search, Write
from tests.drills.consistency.registers import is_linearizable


def write(word, began, ended, seq=None, **more):
    return Write(register="r", word=word, node="a", began_s=began, ended_s=ended, seq=seq, **more)


def read(word, began, ended):
    return Read(register="r", word=word, node="a", began_s=began, ended_s=ended)


def search(*words, began=2, ended=3, seq=1, **more):
    seen = tuple(("r", word) for word in words)
    fields = {"node": "a", "register": "r", "word": None, "lag": 0, **more}
    return Search(began_s=began, ended_s=ended, seen=seen, seq=seq, **fields)


def history(*operations):
    return History(
        writes=[each for each in operations if isinstance(each, Write)],
        reads=[each for each in operations if isinstance(each, Read)],
        searches=[each for each in operations if isinstance(each, Search)],
    )


def violated_claims(*operations):
    return {claim for claim, against in violations(history(*operations)).items() if against}


PUT = write("x", 0, 1, 1, is_searchable=True)

BAD = {
    "nothing is shown that was not written": [PUT, search("x", "y")],
    "each document is linearizable": [PUT, write("y", 2, 3, 2), read("y", 4, 5), read("x", 6, 7)],
    "no answer shows two versions of a document": [PUT, write("y", 2, 3, 2), search("x", "y", seq=2)],
    "writes are numbered in their order": [write("x", 0, 1, 2), write("y", 2, 3, 2)],
    "an answer is as new as was asked for": [PUT, search("x", seq=1, min_seq=2)],
    "a node's answers do not go back": [
        search(began=4, ended=5, seq=3),
        search(began=6, ended=7, seq=2),
    ],
    "what was waited for is searchable on its node": [PUT, search(seq=0, lag=1)],
    "lag is honest": [PUT, write("y", 1, 2, 5), search("y", began=3, ended=4, seq=4)],
    "an answer by words shows nothing newer than its number": [
        PUT,
        write("y", 2, 5),
        search("y", began=3, seq=1),
    ],
    "a search finds the write that it is to include": [PUT, search(word="x")],
    "a search finds a document that was there all the time": [PUT, write("y", 2, 3), search(min_seq=1)],
}


def test_each_claim_has_a_violating_history():
    assert BAD.keys() == CLAIMS.keys()


@pytest.mark.parametrize("claim", BAD)
def test_violating_history_is_reported(claim):
    assert claim in violated_claims(*BAD[claim])


@pytest.mark.parametrize(
    "operations",
    [
        [
            PUT,
            search("x"),
            read("x", 2, 3),
            write(None, 4, 5, 2),
            read(None, 6, 7),
            search(began=6, ended=7, seq=2),
        ],
        [PUT, write("y", 2, 5, 2), search("y", began=3, seq=2), search("x", began=2, ended=3)],
        [PUT, write("y", 2, 5, 2), search(began=3, ended=4, lag=1)],
        [PUT, write("y", 2, 5, 2), search(began=3, ended=4, word="x")],
        [PUT, write("y", 2, 5, 2), search(began=3, ended=4, min_seq=1, is_whole=False)],
        [PUT, write(None, 2, 5, 2), search(began=3, ended=4, min_seq=1)],
        [PUT, write("y", 2, 5, 2), search("y", began=3, ended=4, is_lexical=False)],
        [PUT, write("y", 2, 3, is_certain=False), read("y", 4, 5)],
        [PUT, write("y", 2, 3, is_certain=False), read("x", 4, 5)],
        [PUT, search("x", node="b", seq=1), search(began=4, ended=5, node="b", seq=1, word="z")],
    ],
)
def test_correct_history_is_not_reported(operations):
    assert violated_claims(*operations) == set()


@pytest.mark.parametrize(
    ("reads", "expected"),
    [
        ([read("x", 2, 3)], True),
        ([read("x", 2, 9), read("y", 2, 9), read("z", 2, 9)], True),
        ([read("y", 3, 6), read("z", 7, 8)], True),
        ([read("z", 3, 6), read("y", 7, 8)], True),
        ([read("y", 5, 6), read("z", 7, 8)], False),
        ([read("x", 5, 6)], False),
        ([read(None, 2, 3)], False),
        ([read(None, 0, 0.5)], True),
    ],
)
def test_concurrent_writes_need_one_order_for_all_reads(reads, expected):
    writes = [PUT, write("y", 2, 4), write("z", 2.5, 4)]
    assert is_linearizable(writes, reads) is expected


def test_failed_write_took_effect_before_its_end_or_never():
    unsure = write("y", 4, 5, is_certain=False)
    assert is_linearizable([PUT, unsure], [read("y", 4, 6), read("y", 20, 21)])
    assert is_linearizable([PUT, unsure], [read("x", 20, 21)])
    assert not is_linearizable([PUT, unsure], [read("x", 6, 7), read("y", 20, 21)])
    assert not is_linearizable([PUT, unsure], [read("y", 2, 3)])
    assert not is_linearizable([PUT, replace(unsure, is_certain=True)], [read("x", 20, 21)])


def test_write_with_lost_answer_may_take_effect_at_any_later_time():
    lost = write("y", 4, inf, is_certain=False)
    assert is_linearizable([PUT, lost], [read("x", 6, 7), read("y", 20, 21)])
    assert is_linearizable([PUT, lost], [read("x", 20, 21)])
    assert not is_linearizable([PUT, lost], [read("y", 2, 3), read("x", 6, 7)])


def test_long_history_of_many_clients_is_checked_quickly():
    writes = [write(f"w{n}", n, n + 3.5, is_certain=n % 3 != 1) for n in range(400)]
    reads = [read(f"w{n}", n + 1, n + 4) for n in range(0, 400, 6)]
    assert is_linearizable(writes, reads)
