"""Words of the index that somebody may have meant: near in letters, cut in two, or written as one."""

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from heapq import nlargest, nsmallest
from itertools import pairwise

from search.mirror.query.vocabulary import Vocabulary, of_terms
from search.retrieval.code.definitions import Passage
from search.retrieval.query.edit_distance import allowed_errors, distances_to_stems, edit_distance
from search.retrieval.text.unicode_scripts import RUN, fold, words_of

# Terms whose words are looked at, chunks of each that are read for them, and chunks that are enough.
_TERMS = 16
_LIKELY = 6
_READ = 80
_SAMPLED = 2
# Words offered for one that was typed, and ways to cut it in two that are looked up.
_OFFERED = 3
_CUTS = 3
_MIN_HALF_CHARS = 2
_LETTERS = "abcdefghijklmnopqrstuvwxyz"


@dataclass(frozen=True, slots=True, kw_only=True)
class Spelling:
    """How something typed may have been meant."""

    text: str
    #: Letters or spaces inserted, left out, replaced or swapped.
    errors: int
    #: How many chunks have its rarest term.
    chunk_count: int
    #: Some of the chunks that have it.
    chunk_ids: tuple[str, ...]


def spellings(vocabulary: Vocabulary, word: str) -> list[Spelling]:
    """Give up to 3 spellings of a word that chunks under the filters have, itself included.

    Order: errors, those with the same first letter before others, number of chunks descending, text.
    """
    typed = fold(word)
    if not allowed_errors(typed):
        return []
    near = _near(vocabulary, typed)
    found = [*near, *_in_two(vocabulary, typed)] if all(each.errors for each in near) else near
    return sorted(found, key=lambda each: (each.errors, *_likelihood(typed, each)))[:_OFFERED]


def _likelihood(typed: str, spelling: Spelling) -> tuple[bool, int, str]:
    """Return what sorts spellings with equally many errors: first letters are seldom wrong."""
    return fold(spelling.text[0]) != typed[0], -spelling.chunk_count, spelling.text


def in_one(vocabulary: Vocabulary, words: Sequence[str]) -> list[Spelling]:
    """Return the spelling of neighbouring words as one, if any chunk under the filters has it."""
    joined = "".join(words)
    term = vocabulary.analysis.query_tokens(joined)[0]
    passages = vocabulary.sample(of_terms(term), _READ)
    found = [each.chunk_id for each in passages if fold(joined) in _folded(each)][:_SAMPLED]
    count = vocabulary.chunk_counts([term]).get(term, 0)
    return [Spelling(text=joined, errors=1, chunk_count=count, chunk_ids=tuple(found))] if found else []


def _near(vocabulary: Vocabulary, typed: str) -> list[Spelling]:
    distances: dict[str, float] = {}

    def near(terms: list[str]) -> Iterable[str]:
        distances.update(_near_terms(typed, terms))
        return distances

    counts = vocabulary.counts_beginning(_beginnings(typed), like=near)
    nearest = nsmallest(_TERMS, counts, key=lambda term: (distances[term], -counts[term], term))
    found: dict[str, _Found] = {}
    for place, term in enumerate(nearest):
        passages = vocabulary.sample(of_terms(term), _READ if place < _LIKELY else _SAMPLED)
        for word, chunk_id in _words_near(typed, passages, term):
            found.setdefault(fold(word), _Found(counts[term])).add(word, chunk_id)
    return [
        Spelling(
            text=each.text,
            errors=edit_distance(typed, word),
            chunk_count=each.chunk_count,
            chunk_ids=tuple(each.chunk_ids),
        )
        for word, each in found.items()
    ]


def _words_near(typed: str, passages: Iterable[Passage], term: str) -> Iterator[tuple[str, str]]:
    """Return near words whose stem is `term`, each with its chunk, until enough chunks had one with one
    error.

    Stemming changes no letter but the last one of a stem.
    """
    errors = allowed_errors(typed)
    like = re.compile(rf"(?<!\w){re.escape(term[:-1])}\w*", re.IGNORECASE)
    distances: dict[str, int] = {}
    nearest = 0
    for passage in passages:
        words = _words_like(passage, like)
        for word in words - distances.keys():
            distances[word] = edit_distance(typed, fold(word))
        yield from ((word, passage.chunk_id) for word in sorted(words) if distances[word] <= errors)
        nearest += any(distances[word] <= 1 for word in words)
        if nearest == _SAMPLED:
            return


def _words_like(passage: Passage, like: re.Pattern[str]) -> set[str]:
    text = f"{passage.breadcrumb}\n{passage.text}"
    if text.isascii():
        return set(like.findall(text))
    # Accents are in the text and not in the terms.
    return {word for word in RUN.findall(text) if like.fullmatch(fold(word))}


@dataclass(slots=True)
class _Found:
    """A word as chunks write it."""

    chunk_count: int
    forms: Counter[str] = field(default_factory=Counter)
    chunk_ids: dict[str, None] = field(default_factory=dict)

    def add(self, word: str, chunk_id: str) -> None:
        # A word that begins a sentence is the word in small letters.
        self.forms[word.lower() if word.istitle() else word] += 1
        self.chunk_ids[chunk_id] = None

    @property
    def text(self) -> str:
        return min(self.forms, key=lambda form: (-self.forms[form], form))


def _beginnings(typed: str) -> list[str]:
    """Return how words near `typed` begin: alike, or with one error in the first letters."""
    first, second, third = typed[:3]
    if not typed.isascii():
        return sorted({first, second})
    pairs = {first + second, second + first, second + third, first + third}
    threes = {
        three
        for letter in _LETTERS
        for three in (
            letter + first + second,
            first + letter + second,
            letter + second + third,
            first + letter + third,
        )
    }
    return sorted(pairs | {three for three in threes if three[:2] not in pairs})


def _near_terms(typed: str, terms: Sequence[str]) -> dict[str, float]:
    """Return those of `terms` whose words may be meant, each with its distance."""
    distances = distances_to_stems(typed, terms).tolist()
    farthest = allowed_errors(typed) + 0.5
    return {term: distance for term, distance in zip(terms, distances, strict=True) if distance <= farthest}


def _in_two(vocabulary: Vocabulary, typed: str) -> list[Spelling]:
    """Return `rate limit` for `ratelimit`: for the likeliest cuts it is looked up whether chunks
    have both.
    """
    cuts = [(typed[:at], typed[at:]) for at in range(_MIN_HALF_CHARS, len(typed) - _MIN_HALF_CHARS + 1)]
    query_tokens = vocabulary.analysis.query_tokens
    terms = {half: query_tokens(half)[0] for cut in cuts for half in cut if query_tokens(half)}
    counts = vocabulary.chunk_counts(terms.values())
    rarer = {cut: min(counts.get(terms.get(half, ""), 0) for half in cut) for cut in cuts}
    found: list[Spelling] = []
    for cut in nlargest(_CUTS, (cut for cut in cuts if rarer[cut]), key=rarer.__getitem__):
        passages = vocabulary.sample(of_terms(terms[cut[0]], terms[cut[1]]), _SAMPLED)
        chunk_ids = tuple(each.chunk_id for each in passages if cut in pairwise(_folded(each)))
        if chunk_ids:
            found.append(Spelling(text=" ".join(cut), errors=1, chunk_count=rarer[cut], chunk_ids=chunk_ids))
    return found


def _folded(passage: Passage) -> list[str]:
    return words_of(f"{passage.breadcrumb}\n{passage.text}")
