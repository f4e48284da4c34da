"""Search rules of a workspace: synonyms, stop words, pinned documents, promoted answers and boosts."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any, Final

from search.retrieval.text.unicode_scripts import is_unspaced, words_of

#: The words of a phrase, folded.
Phrase = tuple[str, ...]


class RuleKind(StrEnum):
    """The kinds of rules."""

    SYNONYMS = "synonyms"
    STOP_WORDS = "stop_words"
    PIN = "pin"
    ANSWER = "answer"
    BOOST = "boost"


class QueryMatch(StrEnum):
    """The ways in which a query may match the phrase of a rule."""

    EXACT = "exact"
    CONTAINS = "contains"


@dataclass(frozen=True, slots=True, kw_only=True)
class PromotedAnswer:
    """An answer that the team has written for some queries."""

    title: str
    #: Plain text; '' for none.
    text: str
    #: Where more is said; '' for none.
    url: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Boost:
    """A factor for the scores of documents of a source, of a file type, or of a trust level."""

    #: `source`, `type` or `trust`.
    field: str
    value: str
    factor: float


@dataclass(frozen=True, slots=True)
class _Trigger:
    """The queries that a rule is for, as phrases."""

    phrases: tuple[Phrase, ...]
    match: QueryMatch

    def fires(self, words: Phrase) -> bool:
        if self.match is QueryMatch.EXACT:
            return words in self.phrases
        text = f" {' '.join(words)} "
        spaced = (" ".join(phrase) for phrase in self.phrases)
        return any((phrase if is_unspaced(phrase[0]) else f" {phrase} ") in text for phrase in spaced)


@dataclass(frozen=True, slots=True, kw_only=True)
class SearchRules:
    """The active rules of a workspace, ready to apply."""

    #: By phrase: the other ways to say it.
    synonyms: Mapping[Phrase, tuple[str, ...]] = field(default_factory=dict)
    stop_words: frozenset[str] = frozenset()
    #: Queries with the ids of documents, 32 hex digits.
    pins: tuple[tuple[_Trigger, tuple[str, ...]], ...] = ()
    answers: tuple[tuple[_Trigger, PromotedAnswer], ...] = ()
    boosts: tuple[Boost, ...] = ()
    #: Words that rules are about, which are no typing errors.
    known_words: frozenset[str] = frozenset()
    #: The number of words of the longest phrase that has synonyms.
    longest: int = 0

    def alternatives(self, words: Sequence[Phrase]) -> Iterator[tuple[int, int, tuple[str, ...]]]:
        """Yield start and stop in `words`, the words of each term, with other ways to say what is between.

        The longest phrases come first, and none overlaps with another.
        """
        start = 0
        while start < len(words):
            for stop in range(min(len(words), start + self.longest), start, -1):
                others = self.synonyms.get(tuple(word for each in words[start:stop] for word in each))
                if others:
                    yield start, stop, others
                    start = stop - 1
                    break
            start += 1

    def expand(self, text: str) -> str:
        """Return `text` followed by the synonyms of its phrases, for models that read it."""
        if not self.synonyms:
            return text
        words = [(word,) for word in words_of(text)]
        others = dict.fromkeys(other for *_, found in self.alternatives(words) for other in found)
        return " ".join((text, *others)) if others else text

    def without_stop_words(self, terms: Iterable[str]) -> list[str]:
        """Return the terms that are not stop words of the team; all of them if no other is left."""
        listed = list(terms)
        if not self.stop_words:
            return listed
        return [term for term in listed if not self.stop_words.issuperset(words_of(term))] or listed

    def pinned(self, text: str) -> tuple[str, ...]:
        """Return the ids of the documents that are pinned for a query, first one first."""
        if not self.pins:
            return ()
        words = tuple(words_of(text))
        return tuple(dict.fromkeys(id_ for trigger, ids in self.pins if trigger.fires(words) for id_ in ids))

    def promoted(self, text: str) -> tuple[PromotedAnswer, ...]:
        """Return the answers that are promoted for a query."""
        if not self.answers:
            return ()
        words = tuple(words_of(text))
        return tuple(answer for trigger, answer in self.answers if trigger.fires(words))


NO_RULES: Final = SearchRules()


def compile_rules(rules: Iterable[Mapping[str, Any]]) -> SearchRules:
    """Return the active ones of `rules`, which are valid by `search.settings.rules`."""
    synonyms: dict[Phrase, list[str]] = {}
    stop_words: set[str] = set()
    pins: list[tuple[_Trigger, tuple[str, ...]]] = []
    answers: list[tuple[_Trigger, PromotedAnswer]] = []
    boosts: list[Boost] = []
    for rule in rules:
        if not rule["is_active"]:
            continue
        match RuleKind(rule["kind"]):
            case RuleKind.SYNONYMS:
                _add_synonyms(synonyms, rule["words"], rule["means"])
            case RuleKind.STOP_WORDS:
                stop_words.update(word for text in rule["words"] for word in words_of(text))
            case RuleKind.PIN:
                pins.append((_trigger(rule), tuple(rule["documents"])))
            case RuleKind.ANSWER:
                answer = PromotedAnswer(title=rule["title"], text=rule["text"], url=rule["url"])
                answers.append((_trigger(rule), answer))
            case RuleKind.BOOST:
                boosts.append(Boost(field=rule["field"], value=rule["value"], factor=rule["factor"]))
    return SearchRules(
        synonyms={phrase: tuple(dict.fromkeys(others)) for phrase, others in synonyms.items()},
        stop_words=frozenset(stop_words),
        pins=tuple(pins),
        answers=tuple(answers),
        boosts=tuple(boosts),
        known_words=frozenset(word for phrase in synonyms for word in phrase) | stop_words,
        longest=max(map(len, synonyms), default=0),
    )


def _add_synonyms(synonyms: dict[Phrase, list[str]], words: Sequence[str], means: Sequence[str]) -> None:
    """Add what each of `words` may also be called: the others of them, or only `means` if there are any."""
    for text in words:
        phrase = tuple(words_of(text))
        others = means or [other for other in words if tuple(words_of(other)) != phrase]
        synonyms.setdefault(phrase, []).extend(others)


def _trigger(rule: Mapping[str, Any]) -> _Trigger:
    phrases = tuple(tuple(words_of(query)) for query in rule["queries"])
    return _Trigger(phrases, QueryMatch(rule["match"]))
