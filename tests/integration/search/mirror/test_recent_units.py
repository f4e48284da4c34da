"""What was asked for last, kept within bounds, and scored as if it had not been."""

import numpy as np

from search.mirror.postings.recent import RecentUnits
from search.mirror.postings.score import Scored

WEIGHTS = (2.0, 1.0)


def word(term):
    return (term,), WEIGHTS


def contribution(entries):
    return Scored.of(np.arange(entries), np.ones(entries))


def test_what_was_not_asked_for_the_longest_goes_first():
    recent = RecentUnits(max_entries=5)
    recent.keep({word("a"): contribution(2), word("b"): contribution(2)})
    assert recent.known([word("a")])

    recent.keep({word("c"): contribution(2)})

    assert recent.known([word("a"), word("b"), word("c")]).keys() == {word("a"), word("c")}


def test_a_list_longer_than_all_there_is_room_for_is_not_kept():
    recent = RecentUnits(max_entries=5)
    recent.keep({word("a"): contribution(6)})

    assert recent.known([word("a")]) == {}


def test_a_word_that_is_kept_twice_takes_room_once():
    recent = RecentUnits(max_entries=5)
    for _ in range(5):
        recent.keep({word("a"): contribution(3)})
    recent.keep({word("b"): contribution(2)})

    assert recent.known([word("a"), word("b")]).keys() == {word("a"), word("b")}


def test_other_weights_are_another_word():
    recent = RecentUnits(max_entries=5)
    recent.keep({word("a"): contribution(1)})

    assert recent.known([(("a",), (1.0, 1.0))]) == {}


def test_words_that_nothing_has_are_bounded_too():
    recent = RecentUnits(max_entries=5)
    for term in "abcdef":
        recent.keep({word(term): contribution(0)})

    assert recent.known(map(word, "abcdef")).keys() == {word(term) for term in "bcdef"}
