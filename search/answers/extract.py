"""Extractive answers without a model: the sentences that cover most of the question."""

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import timedelta
from typing import Final

from search.analysis import Analysis
from search.answers.answerability import MIN_COVERAGE, WeightedWord, coverage, covered_weight
from search.answers.contradiction import Agreement, AskedNumbers
from search.answers.passages import Passage, RetrievalOutcome, terms_of
from search.answers.prompt import marker, neutralise_markup, replace_markers, strip_invisible
from search.answers.quotes import MAX_ROWS, Origin, Quote, split_quotes

# The share of the shorter name's words that two documents on one subject have in common.
_SAME_SUBJECT: Final = 0.6
# A newer passage may cover this much less of the question: it words things its own way.
_TOLERANCE: Final = 0.1
# Documents that were uploaded together differ in seconds.
_LEAST_AGE: Final = timedelta(days=1)
_STATED: Final = re.compile(r"(?<!\d)((?:19|20)\d\d)(?:-(\d\d)(?:-(\d\d))?)?(?!\d)")
_NUMBER: Final = re.compile(r"\d+")


def leave_out_amended(
    passages: Sequence[Passage], words: Sequence[WeightedWord], analysis: Analysis
) -> list[Passage]:
    """Return the passages, best first, without those that a newer document amends; that comes in their place.

    One amends another that has a later version, else a later date in its name, else is later dated, if their
    names tell the same subject and it covers as much of the question.
    """
    shown: list[Passage] = []
    for passage in passages:
        latest = _find_latest(passage, passages, words, analysis)
        if latest not in shown:
            shown.append(latest)
    return shown


def _find_latest(
    passage: Passage, passages: Sequence[Passage], words: Sequence[WeightedWord], analysis: Analysis
) -> Passage:
    # Amendments may be amended, but by fewer documents than there are.
    for _ in passages:
        newer = next((each for each in passages if _amends(each, passage, words, analysis)), None)
        if newer is None:
            break
        passage = newer
    return passage


def _amends(newer: Passage, older: Passage, words: Sequence[WeightedWord], analysis: Analysis) -> bool:
    if newer.hit.doc_id == older.hit.doc_id or not _is_newer(newer, older):
        return False
    if not _shares_subject(newer, older, analysis):
        return False
    return coverage(words, [newer.terms]) >= coverage(words, [older.terms]) - _TOLERANCE


def _is_newer(one: Passage, other: Passage) -> bool:
    """Return whether a passage is newer than another: by version, by the date in its name, by its date."""
    for stated in (_version, _stated_date):
        mine, others = stated(one), stated(other)
        if mine and others and mine != others:
            return mine > others
    return one.dated_at - other.dated_at >= _LEAST_AGE


def _version(passage: Passage) -> tuple[int, ...]:
    return tuple(map(int, _NUMBER.findall(passage.hit.version or "")))


def _stated_date(passage: Passage) -> tuple[int, ...]:
    """Return year, month and day of the latest date in a passage's title, headings or path; () for none."""
    dates = _STATED.findall(f"{passage.origin.all_headings}\n{passage.origin.path}")
    return max((tuple(map(int, filter(None, each))) for each in dates), default=())


def _shares_subject(one: Passage, other: Passage, analysis: Analysis) -> bool:
    names = [
        {term for term in terms_of(each.origin.title, analysis) if not _NUMBER.search(term)}
        for each in (one, other)
    ]
    least = min(map(len, names))
    return least > 0 and len(names[0] & names[1]) >= _SAME_SUBJECT * least


MAX_SENTENCES: Final = 3
# Least share of the question's weight that a further sentence must add to be quoted.
_MIN_GAIN: Final = 0.15
_HOW: Final = re.compile(r"\W*(?:how (?:do|can|to|should|would)|wie|comment)\b", re.IGNORECASE)


@dataclass(frozen=True, slots=True, kw_only=True)
class Sentence:
    """A quote of passage `n`, and its index terms."""

    n: int
    quote: Quote
    terms: frozenset[str]
    agreement: Agreement = Agreement.SILENT


def extract(found: RetrievalOutcome) -> tuple[Sentence, ...]:
    """Select one to three quotes, best first; none without passages.

    The first one comes from the passage with the largest coverage plus closeness plus score, ties to the
    earlier passage, or from a newer document that amends it; the further ones add most coverage to it, and
    have two of the words if they are from elsewhere. What a passage's title says distinguishes none of its
    sentences; a question that asks how prefers a list or code. Numbers in parts of the question come before
    all that, and what contradicts them is left out. Where the best passage has too few of the words, as in
    another language, its quote nearest in meaning is the answer. A heading is answered by its section.
    """
    question, passages, analysis = found.question.asking, found.passages, found.analysis
    words = list(found.words or ())
    asked = AskedNumbers.of(question)
    fitting = _order_passages(passages, words, asked)
    ordered = leave_out_amended(fitting, words, analysis)[:MAX_SENTENCES]
    # Which sentences are about its numbers is judged apart: what answers stands often beside the number.
    numbers = {terms for _, _, terms in analysis.number_terms(question)}
    words = [word for word in words if word.positions[0] not in numbers]
    titles = {each.hit.n: terms_of(each.origin.all_headings, analysis) for each in ordered}
    sentences = [
        each
        for passage in ordered
        for each in _sentences(passage, words, analysis, asked)
        if each.agreement is not Agreement.CONTRADICTS
    ]
    section = _section_named(question, sentences, {each.hit.n: each.origin for each in ordered})
    if section or not sentences:
        return section
    of_best = [each for each in sentences if each.n == ordered[0].hit.n] or sentences
    if found.nearest and coverage(words, [ordered[0].terms]) < MIN_COVERAGE:
        nearest = found.nearest([f"{each.quote.context}\n{each.quote.verbatim}" for each in of_best])
        if nearest is not None:
            return (of_best[nearest],)
    open_words = _uncovered(words, titles[of_best[0].n])
    asks_how = _HOW.match(question) is not None
    chosen = [max(of_best, key=lambda each: _rank(each, words, open_words, asks_how=asks_how))]
    # With one word of the question, a sentence from elsewhere is about another subject.
    sentences = [
        each
        for each in sentences
        if each.n == chosen[0].n or sum(word.is_in(each.terms | titles[each.n]) for word in words) > 1
    ]
    total = covered_weight(words, frozenset().union(*(passage.terms for passage in passages)))
    while len(chosen) < MAX_SENTENCES:
        covered = frozenset().union(*(each.terms | titles[each.n] for each in chosen))
        open_words = _uncovered(words, covered)
        best = max(sentences, key=lambda each: covered_weight(open_words, each.terms))
        if covered_weight(open_words, best.terms) <= _MIN_GAIN * total:
            break
        chosen.append(best)
    return tuple(chosen)


def _section_named(
    question: str, sentences: Sequence[Sentence], origins: Mapping[int | None, Origin]
) -> tuple[Sentence, ...]:
    """Return the first quotes of the section whose heading is the question, alone or behind the title."""

    def is_named(each: Sentence) -> bool:
        origin = origins[each.n]
        heading = each.quote.heading or "".join(origin.headings[-1:])
        names = (heading, f"{origin.title}: {heading}")
        return heading not in ("", origin.title) and question.casefold() in map(str.casefold, names)

    return tuple(filter(is_named, sentences))[:MAX_SENTENCES]


def _order_passages(
    passages: Sequence[Passage], words: Sequence[WeightedWord], asked: AskedNumbers
) -> list[Passage]:
    """Return the best passages first; only those that have the numbers of the question if any has."""
    agreements = {each.hit.n: asked.judge(each.whole_text) for each in passages}
    least = min(Agreement.MENTIONS, max(agreements.values(), default=Agreement.SILENT))
    about = [each for each in passages if agreements[each.hit.n] >= least]
    return sorted(about, key=lambda each: (-agreements[each.hit.n], -_fit(words, each)))


def _fit(words: Sequence[WeightedWord], passage: Passage) -> float:
    return coverage(words, [passage.terms]) + (passage.closeness or 0.0) + passage.hit.score


def _rank(
    sentence: Sentence, words: Sequence[WeightedWord], open_words: Sequence[WeightedWord], *, asks_how: bool
) -> tuple[bool, float, bool, float]:
    is_block = asks_how and bool(sentence.quote.block)
    is_asked = sentence.agreement > Agreement.SILENT
    return (
        is_asked,
        covered_weight(open_words, sentence.terms),
        is_block,
        covered_weight(words, sentence.terms),
    )


def _uncovered(words: Sequence[WeightedWord], terms: frozenset[str]) -> list[WeightedWord]:
    return [word for word in words if not word.is_in(terms)]


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


def _sentences(
    passage: Passage, words: Sequence[WeightedWord], analysis: Analysis, asked: AskedNumbers
) -> Iterator[Sentence]:
    """Yield the quotes of a passage; of a table the row with most of the question, all if several have it.

    A quote without numbers belongs to those of the quote before it, or of the heading above it.
    """
    whole = current = asked.judge(passage.origin.all_headings)
    heading = ""
    for quote in split_quotes(passage.text, passage.origin):
        if quote.heading != heading:
            heading, current = quote.heading, asked.judge(quote.heading) or whole
        for each in _matching_rows(quote, words, analysis) or (quote,):
            terms = terms_of(f"{each.context}\n{each.verbatim}", analysis)
            current = asked.judge(each.verbatim, is_within=current > Agreement.SILENT) or current
            yield Sentence(n=passage.hit.n or 0, quote=each, terms=terms, agreement=current)


def _matching_rows(quote: Quote, words: Sequence[WeightedWord], analysis: Analysis) -> list[Quote]:
    shares = [covered_weight(words, terms_of(row.verbatim, analysis)) for row in quote.rows]
    best = max(shares, default=0.0)
    rows = [row for row, share in zip(quote.rows, shares, strict=True) if share == best > 0]
    return rows if len(rows) == 1 or len(quote.rows) > MAX_ROWS else []
