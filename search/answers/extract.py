"""An answer without a model: the sentences of the passages that say most of what was asked."""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Final

from search.analysis import Analysis
from search.answers.answerability import Weighed, coverage, covered
from search.answers.markers import marker, tamed, without_markers, without_unseen
from search.answers.passages import Passage, terms_of

MAX_SENTENCES: Final = 3
MAX_SENTENCE_CHARS: Final = 600
# Where the best passage leaves words of the question open, another may be quoted for this share of them.
_MIN_GAIN: Final = 0.15
# Behind the end of a sentence, unless it goes on in small letters ("e.g. so"); the signs of Chinese and
# Japanese need no blank behind them.
_END: Final = re.compile(r"(?<=[.!?…])\s+(?=[^a-zà-ÿ])|(?<=[.!?][\"'”’)\]])\s+(?=[^a-zà-ÿ])|(?<=[。！？])")
# A line of so many characters is taken for one that was broken to fit, unless an item, a row or a quote
# begins behind it.
_WRAPPED_CHARS: Final = 50
_BEGINS: Final = re.compile(r"\s*(?:[-*+•|>#`]|\d+[.)]\s|\Z)|\s{4}")
_LETTERS: Final = re.compile(r"\w\w")


@dataclass(frozen=True, slots=True, kw_only=True)
class Sentence:
    """A stretch of a passage, white space aside as it stands there, and what it speaks of."""

    n: int
    text: str
    terms: frozenset[str]


def extract(
    passages: Sequence[Passage], words: Sequence[Weighed], analysis: Analysis
) -> tuple[Sentence, ...]:
    """Give one to three sentences, the best first; '' is never one, and of no passage there is none.

    The first is of the passage that speaks most of the question, by its words and by its vector, the earlier
    one where several do; then those that add most to it.
    """
    ordered = sorted(passages, key=lambda passage: -(_share(words, passage.terms) + (passage.cosine or 0.0)))
    sentences = [each for passage in ordered[:MAX_SENTENCES] for each in _sentences(passage, analysis)]
    if not sentences:
        return ()
    of_best = [each for each in sentences if each.n == ordered[0].hit.n] or sentences
    chosen = [max(of_best, key=lambda each: covered(words, each.terms))]
    total = covered(words, frozenset().union(*(passage.terms for passage in passages)))
    while len(chosen) < MAX_SENTENCES:
        said = frozenset().union(*(each.terms for each in chosen))
        open_words = [word for word in words if not word.is_in(said)]
        best = max(sentences, key=lambda each: covered(open_words, each.terms))
        if covered(open_words, best.terms) <= _MIN_GAIN * total:
            break
        chosen.append(best)
    return tuple(chosen)


def _share(words: Sequence[Weighed], terms: frozenset[str]) -> float:
    return coverage(words, [terms])


def text_of(sentences: Sequence[Sentence]) -> str:
    """Return the answer's text: a paragraph each, with its marker, and no marker that a document wrote."""
    return "\n\n".join(
        f"{tamed(without_markers(without_unseen(each.text)))} {marker(each.n)}" for each in sentences
    )


def _sentences(passage: Passage, analysis: Analysis) -> Iterator[Sentence]:
    for text in _split(passage.text):
        yield Sentence(n=passage.hit.n or 0, text=text, terms=terms_of(text, analysis))


def _split(text: str) -> Iterator[str]:
    for line in _unwrapped(text):
        for piece in _END.split(line):
            sentence = " ".join(piece.split())
            if _LETTERS.search(sentence):
                yield sentence[:MAX_SENTENCE_CHARS]


def _unwrapped(text: str) -> Iterator[str]:
    """Return the lines, those that go on with the one before joined to it."""
    joined, before = "", ""
    for line in text.splitlines():
        if len(before) >= _WRAPPED_CHARS and not _BEGINS.match(line):
            joined = f"{joined} {line}"
        else:
            yield joined
            joined = line
        before = line
    yield joined
