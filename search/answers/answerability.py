"""Gates that refuse a question which the retrieved passages don't answer, before a model is asked.

The first gate is the best fused score, which a fused list hardly ever falls below. The second is the share of
the question that the best passages cover: each of its content words is weighted by its rarity among the
chunks of the collection,

    coverage = sum of the weights of the words that a passage has / sum of the weights of all.

A word that the whole collection lacks weighs most (`rarity`), so that only the sentences that ask are judged
(`search.answers.focus`); a word of the subject that a follow-up carries weighs half. How close the vectors of
question and passage are is added to the coverage where vectors of the question's language exist: a paraphrase
shares few words, and a question about something else shares its common ones.
"""

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Final

from search.answers.focus import Question
from search.answers.types import AnswerReason
from search.retrieval.fusion.scores import rarity
from search.retrieval.query.match_units import Analysis, Frequencies, MatchUnit
from search.retrieval.query.parser import parse_query
from search.retrieval.query.plain_match import build_plain_match
from search.retrieval.query.rules import NO_RULES, SearchRules

#: With vectors only this many first passages may cover the question; without vectors any passage may.
COVERAGE_PASSAGES: Final = 3
#: Least coverage plus closeness, and least coverage alone without vectors, of a question that is answered.
#: Measured with English prose of which one half was indexed: the first refuses nine in ten questions about
#: the missing half, and fewer than one in ten about the indexed half (docs/evaluation/answers.md).
MIN_SUPPORT: Final = 0.97
MIN_COVERAGE: Final = 0.43
# A passage that has less of a question's own words says nothing about them.
_OWN_SHARE: Final = 0.5
# What a word of the subject weighs, and one that says little about it.
_CARRIED_SHARE, _VAGUE_SHARE = 0.5, 0.1


@dataclass(frozen=True, slots=True)
class WeightedWord:
    """A content word of a question: the index terms at each of its positions, and its weight."""

    positions: tuple[tuple[str, ...], ...]
    weight: float
    #: The positions of its synonyms.
    synonyms: tuple[tuple[tuple[str, ...], ...], ...] = ()
    #: Whether it is of the subject that the question carries, not of the question itself.
    is_carried: bool = False

    def is_in(self, terms: frozenset[str]) -> bool:
        """Return whether a text with these index terms has all parts of the word, or of a synonym."""
        return any(
            all(not terms.isdisjoint(alternatives) for alternatives in positions)
            for positions in (self.positions, *self.synonyms)
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class Evidence:
    """The inputs of the gates."""

    #: Fused score of the first hit, in [0, 1].
    best_score: float
    #: In [0, 1]; None when the words couldn't be looked up.
    coverage: float | None
    #: Of question and the nearest passage by their vectors; None without vectors.
    closeness: float | None


def weigh_words(
    question: str,
    analysis: Analysis,
    frequencies: Frequencies,
    chunk_count: int,
    rules: SearchRules = NO_RULES,
    *,
    asked: Question | None = None,
) -> tuple[WeightedWord, ...]:
    """Return the content words of a question, each weighted by its rarity among the chunks.

    If `asked` has a subject, words of that weigh half, and those that say little about it hardly anything.
    """
    match = build_plain_match(parse_query(question).terms, analysis, frequencies, rules)
    units = () if match is None else match.some
    chunk_counts = frequencies({term for unit in units for terms in unit.positions for term in terms})
    return tuple(
        WeightedWord(
            unit.positions,
            _weight(unit, chunk_counts, chunk_count) * _share(unit.term, asked),
            tuple(each.positions for each in unit.synonyms),
            is_carried=asked is not None and not asked.adds(unit.term),
        )
        for unit in units
    )


def coverage(words: Sequence[WeightedWord], passages: Iterable[frozenset[str]]) -> float:
    """Return the largest share of the words' weight that one passage covers; 0 without words.

    Each passage is given as its set of index terms.
    """
    total = math.fsum(word.weight for word in words)
    if not total:
        return 0.0
    return max((covered_weight(words, terms) / total for terms in passages), default=0.0)


def covered_weight(words: Iterable[WeightedWord], terms: frozenset[str]) -> float:
    """Return the total weight of the words that are in a text with these index terms."""
    return math.fsum(word.weight for word in words if word.is_in(terms))


def lighten_subject(words: Iterable[WeightedWord], factor: float) -> tuple[WeightedWord, ...]:
    """Return the words, those that are carried with a part of their weight."""
    return tuple(replace(word, weight=word.weight * factor) if word.is_carried else word for word in words)


def keeps_subject(words: Sequence[WeightedWord], passages: Iterable[frozenset[str]], least: float) -> bool:
    """Return whether a question is about the subject that it carries.

    It isn't if none of the passages that have most of its own words has so much of the subject's weight.
    """
    own = [word for word in words if not word.is_carried]
    carried = [word for word in words if word.is_carried]
    shares = [(coverage(own, [terms]), terms) for terms in passages]
    most = max((share for share, _ in shares), default=0.0)
    if not carried or most < _OWN_SHARE:
        return True
    return coverage(carried, [terms for share, terms in shares if share == most]) >= least


def refusal(evidence: Evidence, score_gate: float) -> AnswerReason | None:
    """Return the reason for refusing the question; None when it passes the gates."""
    if evidence.best_score < score_gate:
        return AnswerReason.SCORE_GATE
    return None if _is_supported(evidence) else AnswerReason.NOT_COVERED


def _is_supported(evidence: Evidence) -> bool:
    if evidence.coverage is None:
        return True
    if evidence.closeness is None:
        return evidence.coverage >= MIN_COVERAGE
    return evidence.coverage + max(0.0, evidence.closeness) >= MIN_SUPPORT


def _share(term: str, asked: Question | None) -> float:
    if asked is None or asked.adds(term):
        return 1.0
    return _VAGUE_SHARE if asked.has(term) else _CARRIED_SHARE


def _weight(unit: MatchUnit, chunk_counts: Mapping[str, int], chunk_count: int) -> float:
    # Alternatives are spellings of one word. Of several positions the rarest is the most informative.
    n = min((max(chunk_counts.get(term, 0) for term in terms) for terms in unit.positions), default=0)
    return rarity(n, chunk_count)
