"""Extractive answers without a model: the sentences that cover most of the question."""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Final

from search.analysis import Analysis
from search.answers.answerability import WeightedWord, coverage, covered_weight
from search.answers.markers import marker, neutralise_markup, replace_markers, strip_invisible
from search.answers.passages import Passage, terms_of

MAX_SENTENCES: Final = 3
MAX_SENTENCE_CHARS: Final = 600
# Least share of the question's weight that a further sentence must add to be quoted.
_MIN_GAIN: Final = 0.15
# The end of a sentence, unless a lower-case letter follows ("e.g. so"); Chinese and Japanese full stops need
# no blank after them.
_END: Final = re.compile(r"(?<=[.!?…])\s+(?=[^a-zà-ÿ])|(?<=[.!?][\"'”’)\]])\s+(?=[^a-zà-ÿ])|(?<=[。！？])")
# A line of at least this length is taken for a wrapped one, unless a list item, a table row or a quote
# follows.
_WRAPPED_CHARS: Final = 50
_BEGINS: Final = re.compile(r"\s*(?:[-*+•|>#`]|\d+[.)]\s|\Z)|\s{4}")
_LETTERS: Final = re.compile(r"\w\w")


@dataclass(frozen=True, slots=True, kw_only=True)
class Sentence:
    """A sentence of passage `n`, verbatim but for white space, and its index terms."""

    n: int
    text: str
    terms: frozenset[str]


def extract(
    passages: Sequence[Passage], words: Sequence[WeightedWord], analysis: Analysis
) -> tuple[Sentence, ...]:
    """Select one to three non-empty sentences, best first; none without passages.

    The first sentence comes from the passage with the largest coverage plus cosine, ties to the earlier
    passage; the further ones add most coverage to it.
    """
    ordered = sorted(passages, key=lambda passage: -(_share(words, passage.terms) + (passage.cosine or 0.0)))
    sentences = [each for passage in ordered[:MAX_SENTENCES] for each in _sentences(passage, analysis)]
    if not sentences:
        return ()
    of_best = [each for each in sentences if each.n == ordered[0].hit.n] or sentences
    chosen = [max(of_best, key=lambda each: covered_weight(words, each.terms))]
    total = covered_weight(words, frozenset().union(*(passage.terms for passage in passages)))
    while len(chosen) < MAX_SENTENCES:
        covered = frozenset().union(*(each.terms for each in chosen))
        open_words = [word for word in words if not word.is_in(covered)]
        best = max(sentences, key=lambda each: covered_weight(open_words, each.terms))
        if covered_weight(open_words, best.terms) <= _MIN_GAIN * total:
            break
        chosen.append(best)
    return tuple(chosen)


def _share(words: Sequence[WeightedWord], terms: frozenset[str]) -> float:
    return coverage(words, [terms])


def format_sentences(sentences: Sequence[Sentence]) -> str:
    """Format the answer's text: a paragraph with a marker for each sentence, without other markers."""
    return "\n\n".join(
        f"{neutralise_markup(replace_markers(strip_invisible(each.text)))} {marker(each.n)}"
        for each in sentences
    )


def _sentences(passage: Passage, analysis: Analysis) -> Iterator[Sentence]:
    for text in _split_sentences(passage.text):
        yield Sentence(n=passage.hit.n or 0, text=text, terms=terms_of(text, analysis))


def _split_sentences(text: str) -> Iterator[str]:
    for line in _unwrap_lines(text):
        for piece in _END.split(line):
            sentence = " ".join(piece.split())
            if _LETTERS.search(sentence):
                yield sentence[:MAX_SENTENCE_CHARS]


def _unwrap_lines(text: str) -> Iterator[str]:
    """Yield the lines, with wrapped continuation lines joined to their first line."""
    joined, before = "", ""
    for line in text.splitlines():
        if len(before) >= _WRAPPED_CHARS and not _BEGINS.match(line):
            joined = f"{joined} {line}"
        else:
            yield joined
            joined = line
        before = line
    yield joined
