"""Extractive answers without a model: the sentences that cover most of the question."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Final

from search.analysis import Analysis
from search.answers.answerability import WeightedWord, coverage, covered_weight
from search.answers.markers import marker, neutralise_markup, replace_markers, strip_invisible
from search.answers.passages import Passage, terms_of
from search.answers.quotes import Quote, split_quotes

MAX_SENTENCES: Final = 3
# Least share of the question's weight that a further sentence must add to be quoted.
_MIN_GAIN: Final = 0.15


@dataclass(frozen=True, slots=True, kw_only=True)
class Sentence:
    """A quote of passage `n`, and its index terms."""

    n: int
    quote: Quote
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
    # What a passage's title says needs no sentence of its own.
    titles = {each.hit.n: terms_of(each.origin.all_headings, analysis) for each in passages}
    while len(chosen) < MAX_SENTENCES:
        covered = frozenset().union(*(each.terms | titles[each.n] for each in chosen))
        open_words = [word for word in words if not word.is_in(covered)]
        best = max(sentences, key=lambda each: covered_weight(open_words, each.terms))
        if covered_weight(open_words, best.terms) <= _MIN_GAIN * total:
            break
        chosen.append(best)
    return tuple(chosen)


def _share(words: Sequence[WeightedWord], terms: frozenset[str]) -> float:
    return coverage(words, [terms])


def format_sentences(sentences: Sequence[Sentence]) -> str:
    """Format the answer's text as Markdown: each quote with its marker, without other markers."""
    return "\n\n".join(
        "\n\n".join(
            filter(None, (f"{_neutral(each.quote.lead)} {marker(each.n)}", _neutral(each.quote.block)))
        )
        for each in sentences
    )


def _neutral(text: str) -> str:
    return neutralise_markup(replace_markers(strip_invisible(text)))


def _sentences(passage: Passage, analysis: Analysis) -> Iterator[Sentence]:
    for quote in split_quotes(passage.text, passage.origin):
        terms = terms_of(f"{quote.context}\n{quote.verbatim}", analysis)
        yield Sentence(n=passage.hit.n or 0, quote=quote, terms=terms)
