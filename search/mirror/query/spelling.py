"""The index's words, and spelling corrections: words near in letters, split in two, or written as one."""

import json
import re
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from heapq import nlargest, nsmallest
from itertools import pairwise
from string import ascii_lowercase, digits

import numpy as np

from search.analysis import Analysis, encode_phrase
from search.mirror import postings
from search.mirror.query.view import MirrorView
from search.retrieval.code.definitions import IndexedPassage
from search.retrieval.query.completion import LAST_CHARACTER
from search.retrieval.query.edit_distance import (
    MAX_CHARS,
    allowed_errors,
    distances_to_stems,
    edit_distance,
)
from search.retrieval.text.unicode_scripts import RUN, fold, words_of

# Posting lists that are counted per batch in a part of the mirror.
_NARROWED = 64

_BEGINNING = (
    "SELECT v.term, v.doc FROM json_each(?) b CROSS JOIN chunks_vocab v"
    " WHERE v.term >= b.value AND v.term < b.value || ?"
)
_OF_TERMS = "SELECT v.term, v.doc FROM json_each(?) t CROSS JOIN chunks_vocab v WHERE v.term = t.value"
_SAMPLE = "SELECT chunk_id, breadcrumb, text FROM chunks_fts WHERE chunks_fts MATCH ? {clause} LIMIT ?"


class Vocabulary:
    """The terms of the chunks that a query's reader may read, with counts."""

    def __init__(self, view: MirrorView) -> None:
        """Create the vocabulary of a mirror. Raises MirrorDamaged."""
        self.connection = view.connection
        self._raise_if_late = view.raise_if_late
        #: The analysis that indexed the mirror's text.
        self.analysis: Analysis = view.analysis
        self.view = view
        self._narrowed: postings.Collection | None = view.narrowed_collection

    def chunk_counts(self, terms: Iterable[str]) -> dict[str, int]:
        """Return those of `terms` that any chunk has, each with the number of chunks that have it."""
        if self._narrowed is not None:
            return self._narrowed.frequencies(self.connection, terms)
        return self._count_terms(terms)

    def prefix_counts(
        self, prefixes: Collection[str], *, select: Callable[[list[str]], Iterable[str]]
    ) -> dict[str, int]:
        """Return the terms that begin with any of `prefixes`, each with the number of chunks that have it.

        Only terms that `select` keeps are counted.
        """
        known = self._count_terms_with_prefix(prefixes)
        kept = select(list(known))
        if self._narrowed is not None:
            return self._narrowed.frequencies(self.connection, kept)
        return {term: known[term] for term in kept}

    def most_common_terms(self, prefix: str, others: Collection[str], limit: int) -> list[str]:
        """Return the `limit` most common terms with the prefix, and of `others`; ties alphabetically.

        Counts in the whole mirror are upper bounds for a part of it, so a part's lists are read from the
        longest on, until no other can be among the first.
        """
        bounds = self._count_terms_with_prefix([prefix]) | self._count_terms(others)
        ranked = sorted((-count, term) for term, count in bounds.items())
        if self._narrowed is None:
            return [term for _, term in ranked[:limit]]
        best: list[tuple[int, str]] = []
        for batch in (ranked[at : at + _NARROWED] for at in range(0, len(ranked), _NARROWED)):
            if len(best) == limit and best[-1] < batch[0]:
                break
            counts = self._narrowed.frequencies(self.connection, [term for _, term in batch])
            best = nsmallest(limit, [*best, *((-count, term) for term, count in counts.items())])
        return [term for _, term in best]

    def _count_terms_with_prefix(self, prefixes: Collection[str]) -> dict[str, int]:
        """Return the terms that begin with any of `prefixes`, counted in the whole mirror."""
        return dict(self.connection.execute(_BEGINNING, (json.dumps(sorted(prefixes)), LAST_CHARACTER)))

    def _count_terms(self, terms: Iterable[str]) -> dict[str, int]:
        """Return those of `terms` that exist, counted in the whole mirror."""
        return dict(self.connection.execute(_OF_TERMS, (json.dumps(sorted(set(terms))),)))

    def sample(self, expression: str, limit: int) -> list[IndexedPassage]:
        """Return the first `limit` chunks that `expression` matches under the filters; counts ignore those.

        Raises apsw.InterruptError when the time is up.
        """
        self._raise_if_late()
        rows = self.connection.execute(_SAMPLE.format(clause=self.view.filter_clause), (expression, limit))
        return [IndexedPassage(chunk_id=row[0], breadcrumb=row[1], text=row[2]) for row in rows]


def terms_expression(*terms: str) -> str:
    """Return the FTS5 expression for these terms as a phrase."""
    return encode_phrase([(term,) for term in terms])


# Terms whose words are considered, how many of them are read thoroughly, chunks read for each of those, and
# chunks that suffice.
_TERMS = 16
_LIKELY = 6
_READ = 80
_SAMPLED = 2
# Spellings offered for a typed word, and splits of it that are looked up.
_OFFERED = 3
_CUTS = 3
_NUMBER = re.compile(r"(?<!\d)\d{3,}(?!\d)")
_RUN_WITH_DIGIT = re.compile(r"[^\W_]*\d[^\W_]*")
_DIGITS = re.compile(r"\d+")
_MIN_HALF_CHARS = 2


@dataclass(frozen=True, slots=True, kw_only=True)
class Spelling:
    """A possible spelling of typed text."""

    text: str
    #: Letters or spaces inserted, left out, replaced or swapped.
    errors: int
    #: How many chunks have its rarest term.
    chunk_count: int
    #: Some of the chunks that have it.
    chunk_ids: tuple[str, ...]


def spellings(vocabulary: Vocabulary, word: str) -> list[Spelling]:
    """Return up to 3 spellings of a word that chunks under the filters have, itself included.

    Order: errors, those with the same first letter before others, number of chunks descending, text.
    """
    typed = fold(word)
    if not allowed_errors(typed):
        return []
    near = _find_near(vocabulary, typed)
    found = [*near, *split_word(vocabulary, typed)] if all(each.errors for each in near) else near
    return sorted(found, key=lambda each: (each.errors, *_sort_key(typed, each)))[:_OFFERED]


def _sort_key(typed: str, spelling: Spelling) -> tuple[bool, int, str]:
    """Return the sort key of spellings with equally many errors: first letters are seldom wrong."""
    return fold(spelling.text[0]) != typed[0], -spelling.chunk_count, spelling.text


def join_words(vocabulary: Vocabulary, words: Sequence[str]) -> list[Spelling]:
    """Return the spelling of neighbouring words as one, if any chunk under the filters has it."""
    joined = "".join(words)
    term = vocabulary.analysis.query_tokens(joined)[0]
    passages = vocabulary.sample(terms_expression(term), _READ)
    found = [each.chunk_id for each in passages if fold(joined) in _fold_words(each)][:_SAMPLED]
    count = vocabulary.chunk_counts([term]).get(term, 0)
    return [Spelling(text=joined, errors=1, chunk_count=count, chunk_ids=tuple(found))] if found else []


def near_identifiers(vocabulary: Vocabulary, typed: str) -> list[Spelling]:
    """Return up to 3 identifiers that chunks under the filters have, with another digit than `typed`."""
    found: dict[str, Spelling] = {}
    for piece in (*_NUMBER.finditer(typed), *_RUN_WITH_DIGIT.finditer(typed)):
        for term in _near_counts(vocabulary, fold(piece[0])) if allowed_errors(piece[0]) else ():
            if not _is_another_digit(fold(piece[0]), term):
                continue
            text = (
                typed[: piece.start()] + (term.upper() if piece[0].isupper() else term) + typed[piece.end() :]
            )
            passages = vocabulary.sample(encode_phrase(vocabulary.analysis.query_terms(text)), _SAMPLED)
            if ids := tuple(each.chunk_id for each in passages):
                found[text] = Spelling(text=text, errors=1, chunk_count=len(ids), chunk_ids=ids)
    return list(found.values())[:_OFFERED]


def _is_another_digit(typed: str, term: str) -> bool:
    """Return whether a term is `typed` but for one digit, or for two that are swapped."""
    is_same = _DIGITS.sub("", typed) == _DIGITS.sub("", term)
    return is_same and len(term) <= MAX_CHARS and edit_distance(typed, term) == 1


def _near_counts(vocabulary: Vocabulary, typed: str) -> dict[str, int]:
    """Return the nearest terms, at most 16, in order, each with the number of chunks that have it."""
    distances: dict[str, float] = {}

    def near(terms: list[str]) -> Iterable[str]:
        distances.update(_near_terms(typed, terms))
        return distances

    counts = vocabulary.prefix_counts(_near_prefixes(typed), select=near)
    nearest = nsmallest(_TERMS, counts, key=lambda term: (distances[term], -counts[term], term))
    return {term: counts[term] for term in nearest}


def _find_near(vocabulary: Vocabulary, typed: str) -> list[Spelling]:
    counts = _near_counts(vocabulary, typed)
    found: dict[str, _WordForms] = {}
    for place, term in enumerate(counts):
        passages = vocabulary.sample(terms_expression(term), _READ if place < _LIKELY else _SAMPLED)
        for word, chunk_id in _words_near(typed, passages, term):
            found.setdefault(fold(word), _WordForms(counts[term])).add(word, chunk_id)
    return [
        Spelling(
            text=each.text,
            errors=edit_distance(typed, word),
            chunk_count=each.chunk_count,
            chunk_ids=tuple(each.chunk_ids),
        )
        for word, each in found.items()
    ]


def _words_near(typed: str, passages: Iterable[IndexedPassage], term: str) -> Iterator[tuple[str, str]]:
    """Yield near words whose stem is `term`, each with its chunk, until 2 chunks had one with one error.

    Stemming changes no letter of a stem but the last.
    """
    errors = allowed_errors(typed)
    like = re.compile(rf"(?<!\w){re.escape(term[:-1])}\w*", re.IGNORECASE)
    distances: dict[str, int] = {}
    nearest = 0
    for passage in passages:
        words = _words_like(passage, like)
        for word in words - distances.keys():
            is_near = abs(len(fold(word)) - len(typed)) <= errors
            distances[word] = edit_distance(typed, fold(word)) if is_near else errors + 1
        yield from ((word, passage.chunk_id) for word in sorted(words) if distances[word] <= errors)
        nearest += any(distances[word] <= 1 for word in words)
        if nearest == _SAMPLED:
            return


def _words_like(passage: IndexedPassage, like: re.Pattern[str]) -> set[str]:
    text = f"{passage.breadcrumb}\n{passage.text}"
    if text.isascii():
        return set(like.findall(text))
    # The text has accents, the terms have none.
    return {word for word in RUN.findall(text) if like.fullmatch(fold(word))}


@dataclass(slots=True)
class _WordForms:
    """The forms in which chunks write a word, with counts and chunks."""

    chunk_count: int
    forms: Counter[str] = field(default_factory=Counter)
    chunk_ids: dict[str, None] = field(default_factory=dict)

    def add(self, word: str, chunk_id: str) -> None:
        # A capitalised word may just begin a sentence.
        self.forms[word.lower() if word.istitle() else word] += 1
        self.chunk_ids[chunk_id] = None

    @property
    def text(self) -> str:
        return min(self.forms, key=lambda form: (-self.forms[form], form))


def _near_prefixes(typed: str) -> list[str]:
    """Return the prefixes of words near `typed`: the same, or with one error in the first letters."""
    first, second, third = list(typed[:3])
    if not typed.isascii():
        return sorted({first, second})
    pairs = {first + second, second + first, second + third, first + third}
    threes = {
        three
        for letter in (digits if typed.isdecimal() else ascii_lowercase)
        for three in (
            letter + first + second,
            first + letter + second,
            letter + second + third,
            first + letter + third,
        )
    }
    return sorted(pairs | {three for three in threes if three[:2] not in pairs})


def _near_terms(typed: str, terms: Sequence[str]) -> dict[str, float]:
    """Return those of `terms` that are near enough to `typed`, each with its distance."""
    distances = distances_to_stems(typed, terms)
    if typed.endswith("y"):  # the stem of Shelby is shelbi
        distances = np.minimum(distances, distances_to_stems(typed[:-1] + "i", terms))
    farthest = allowed_errors(typed) + 0.5
    return {
        term: distance
        for term, distance in zip(terms, distances.tolist(), strict=True)
        if distance <= farthest
    }


def split_word(vocabulary: Vocabulary, word: str) -> list[Spelling]:
    """Return spellings as two words, as `rate limit` for `ratelimit`, if chunks have both in a row.

    Only the 3 likeliest splits are looked up; none of a word that is too long.
    """
    typed = fold(word)
    if len(typed) > MAX_CHARS:
        return []
    cuts = [(typed[:at], typed[at:]) for at in range(_MIN_HALF_CHARS, len(typed) - _MIN_HALF_CHARS + 1)]
    query_tokens = vocabulary.analysis.query_tokens
    terms = {half: query_tokens(half)[0] for cut in cuts for half in cut if query_tokens(half)}
    counts = vocabulary.chunk_counts(terms.values())
    rarer = {cut: min(counts.get(terms.get(half, ""), 0) for half in cut) for cut in cuts}
    found: list[Spelling] = []
    for cut in nlargest(_CUTS, (cut for cut in cuts if rarer[cut]), key=rarer.__getitem__):
        passages = vocabulary.sample(terms_expression(terms[cut[0]], terms[cut[1]]), _SAMPLED)
        chunk_ids = tuple(each.chunk_id for each in passages if cut in pairwise(_fold_words(each)))
        if chunk_ids:
            found.append(Spelling(text=" ".join(cut), errors=1, chunk_count=rarer[cut], chunk_ids=chunk_ids))
    return found


def _fold_words(passage: IndexedPassage) -> list[str]:
    return words_of(f"{passage.breadcrumb}\n{passage.text}")
