"""Spellings of a query from words of the corpus that the caller may see.

A query without results gets a suggestion. Before a search, words that no chunk has are corrected.
"""

import re
from collections.abc import Callable, Iterator, Mapping, Sequence, Set
from dataclasses import dataclass, replace
from functools import partial
from itertools import islice, pairwise

import apsw

from kebab.identity.models import Workspace
from search.analysis import encode_phrase
from search.embedders.bert.tokenizer import is_common_word
from search.engine.readback import read_passages
from search.mirror.query.lexical import TEXT_WEIGHT
from search.mirror.query.spelling import (
    Spelling,
    Vocabulary,
    join_words,
    near_identifiers,
    spellings,
    split_word,
)
from search.mirror.query.view import MirrorView
from search.retrieval.query.channels import QueryChannels
from search.retrieval.query.edit_distance import safe_errors
from search.retrieval.query.exact import is_name_shaped
from search.retrieval.query.parser import MIN_PREFIX_CHARS, parse_query
from search.retrieval.query.stopwords import content_terms, language_of
from search.retrieval.text.unicode_scripts import RUN, fold, is_unspaced, words_of
from search.retrieval.types import SearchQuery
from search.settings.search_settings import SearchSettings

#: Returns breadcrumb and text of the visible ones of the chunks, by id.
ReadPassages = Callable[[Sequence[str]], Mapping[str, tuple[str, str]]]

# Number of words of a query to look up; each takes a few milliseconds.
_MAX_WORDS = 4
_READ_CHARS = 1_000
# Inflected endings of Germanic and Romance languages, folded, and the letters that have to precede them.
_ENDINGS = frozenset(
    {"", "a", "as", "e", "em", "en", "ent", "er", "ern", "es", "est", "et", "ez", "i", "is", "n", "o", "ons"}
    | {"os", "s", "st", "t", "te", "ten", "tet", "x"}
)
_MIN_STEM_CHARS = 5
# A term with letters and a number of three digits or more.
_IDENTIFIER = re.compile(r"(?<![\w-])(?=[\w./#-]*[^\W\d_])(?=[\w./#-]*\d{3})\w+(?:[./#-]\w+)*")


@dataclass(frozen=True, slots=True)
class CorrectedQuery:
    """A query whose unknown words have been corrected."""

    text: str
    #: Whether words begin with its last word, which is none itself: it is still being typed.
    is_unfinished: bool
    #: The same with its operators; None without any.
    typed: str | None = None
    #: The query with its operators and with misspelled words corrected; None without any.
    corrected: str | None = None


@dataclass(frozen=True, slots=True)
class _TypedWord:
    """One word of the query, or two neighbours, with its possible spellings."""

    start: int
    end: int
    spellings: Sequence[Spelling]


def suggest_query(
    view: MirrorView, text: str, read_passages: ReadPassages, *, typed: str | None = None
) -> str | None:
    """Return the query as it was probably meant; None if the corpus suggests nothing else.

    Call it if nothing matched. A word is replaced only by one of a visible chunk. `typed` is the query with
    its operators, if `text` has blanks in their place. Raises MirrorDamaged.
    """
    if parse_query(text).raw is not None:
        return None
    try:
        with view.limited_time():
            words = list(_find_spellings(Vocabulary(view), text[:_READ_CHARS]))
    except apsw.InterruptError:
        return None
    return _suggest(text, words, read_passages, typed=typed)


def suggest_identifiers(
    view: MirrorView, text: str, read_passages: ReadPassages, *, typed: str | None = None
) -> str | None:
    """Return the query with identifiers that no chunk has replaced by near ones, or None.

    Call it if no chunk has all words: near identifiers are offered, as `INV-1263` for `INV-1236`, and never
    searched for unasked. `typed` is as in `suggest_query`. Raises MirrorDamaged.
    """
    found = list(islice(_IDENTIFIER.finditer(text[:_READ_CHARS]), _MAX_WORDS))
    if not found or parse_query(text).raw is not None:
        return None
    try:
        with view.limited_time():
            vocabulary = Vocabulary(view)
            words = [
                _TypedWord(word.start(), word.end(), near_identifiers(vocabulary, word[0]))
                for word in found
                if not vocabulary.sample(encode_phrase(view.analysis.query_terms(word[0])), 1)
            ]
    except apsw.InterruptError:
        return None
    return _suggest(text, words, read_passages, typed=typed)


def _suggest(
    text: str, words: Sequence[_TypedWord], read_passages: ReadPassages, *, typed: str | None
) -> str | None:
    """Return the query, or `typed`, with its words as visible chunks spell them; None if nothing changes."""
    suggestion = _apply_spellings(typed or text, words, _read_visible(words, read_passages))
    return None if fold(suggestion) == fold(typed or text) else suggestion


def _read_visible(words: Sequence[_TypedWord], read_passages: ReadPassages) -> Mapping[str, tuple[str, str]]:
    """Return breadcrumb and text of the visible chunks of all spellings."""
    chunk_ids = {id_ for each in words for spelling in each.spellings for id_ in spelling.chunk_ids}
    return read_passages(sorted(chunk_ids)) if chunk_ids else {}


def correct_words(
    workspace: Workspace, view: MirrorView, query: SearchQuery
) -> tuple[SearchQuery, CorrectedQuery | None]:
    """Return the query as its words are searched, and how unknown ones were corrected; None: left as typed.

    A last word that is still being typed is one that others may begin with.
    """
    if not query.typos or query.channels is not None:
        return query, None
    text = query.effective_channels.lexical
    typed = None if query.bare_text is None else query.text
    corrected = correct_query(
        view,
        text,
        partial(read_passages, view.scope),
        weights=(SearchSettings.of(workspace).breadcrumb_weight, TEXT_WEIGHT),
        typed=typed,
        known_words=view.scope.rules.known_words,
    )
    if not corrected.is_unfinished and corrected.text == text:
        return query, None
    searched = replace(query, prefix=query.prefix or corrected.is_unfinished)
    if corrected.text == text:
        return searched, corrected
    text = corrected.text
    return replace(searched, channels=QueryChannels(vector=text, lexical=text, rerank=text)), corrected


def correct_query(
    view: MirrorView,
    text: str,
    read_passages: ReadPassages,
    *,
    weights: tuple[float, float],
    typed: str | None = None,
    known_words: Set[str] = frozenset(),
) -> CorrectedQuery:
    """Return the query with those words corrected that no chunk has which its reader may read.

    Such a word is left as it is if it may be a name or a code, if it is a common English word, or if nothing
    near it is under the filters. One error is corrected from five letters on, two from nine. A word that no
    chunk under the filters has is written as two if one of these has both in a row. A word that differs from
    its spelling in an ending alone is no error: the other form is searched without saying so. `known_words`
    are left as they are. `weights` are those of breadcrumb and text; `typed` is the query with its
    operators, if `text` has blanks in their place. Raises MirrorDamaged.
    """
    unchanged = CorrectedQuery(text, is_unfinished=False, typed=typed)
    if parse_query(text).raw is not None:
        return unchanged
    try:
        with view.limited_time():
            found = _find_missing(view, text, weights)
            missing = [each for each in found if fold(each[0][0]) not in known_words]
            if not missing:
                return unchanged
            unknown = [word for word, is_unknown in missing if is_unknown]
            vocabulary = Vocabulary(view)
            # Operators behind the last word leave it unfinished.
            end = len(text if (typed or text)[-1:].isspace() else text.rstrip())
            is_unfinished = bool(unknown) and _is_beginning(vocabulary, unknown[-1], end)
            words = [
                _TypedWord(
                    word.start(), word.end(), _safe_spellings(vocabulary, word[0], is_unknown=is_unknown)
                )
                for word, is_unknown in missing[:_MAX_WORDS]
                if not (
                    _may_be_name(word, text, is_unknown=is_unknown) or (is_unfinished and word is unknown[-1])
                )
            ]
    except apsw.InterruptError:
        return unchanged
    visible = _read_visible(words, read_passages)
    corrected = _apply_spellings(typed or text, words, visible, with_forms=False)
    return CorrectedQuery(
        _apply_spellings(text, words, visible),
        is_unfinished=is_unfinished,
        typed=typed and _apply_spellings(typed, words, visible),
        corrected=None if corrected == (typed or text) else corrected,
    )


def _find_missing(
    view: MirrorView, text: str, weights: tuple[float, float]
) -> list[tuple[re.Match[str], bool]]:
    """Return the words that no chunk under the filters has, and whether no other chunk has them either.

    Words of unspaced scripts are not looked at. The words' scores are kept for the search, which computes
    them with the same weights.
    """
    words = [
        run for run in RUN.finditer(text[:_READ_CHARS]) if run[0].isalpha() and not is_unspaced(run[0][0])
    ]
    if "*" in text:
        words = [run for run in words if not text.startswith("*", run.end())]
    if not words:
        return []
    language = language_of(word[0].lower() for word in words)
    terms = [view.analysis.query_terms(word[0], language)[0] for word in words]
    found = view.collection.score_words(view.connection, terms, weights)
    passes = view.passes if view.scope.filter_conditions else None
    missing = []
    for word, alternatives in zip(words, terms, strict=True):
        is_unknown = not len(found[alternatives])
        if is_unknown or (passes is not None and not passes[found[alternatives].rows].any()):
            missing.append((word, is_unknown))
    return missing


def _is_beginning(vocabulary: Vocabulary, word: re.Match[str], end: int) -> bool:
    """Return whether `word` ends at `end`, where an unfinished query does, and other words begin with it."""
    if word.end() != end or len(word[0]) < MIN_PREFIX_CHARS:
        return False
    return bool(vocabulary.most_common_terms(fold(word[0]), (), 1))


def _may_be_name(word: re.Match[str], text: str, *, is_unknown: bool) -> bool:
    """Return whether a word looks like a name in code or an abbreviation, is quoted, or is a known name."""
    if is_name_shaped(word[0]) or (word[0].isupper() and not text.isupper()):
        return True
    is_within = text[: word.start()].count('"') % 2 == 1
    return is_within or (not is_unknown and word[0].istitle() and word.start() > 0 and not text.istitle())


def _safe_spellings(vocabulary: Vocabulary, word: str, *, is_unknown: bool) -> list[Spelling]:
    most = safe_errors(fold(word))
    if not most:
        return []
    may_be_wrong = is_unknown and not is_common_word(fold(word))
    found = spellings(vocabulary, word) if may_be_wrong else split_word(vocabulary, word)
    return [each for each in found if each.errors <= most]


def _find_spellings(vocabulary: Vocabulary, text: str) -> Iterator[_TypedWord]:
    """Return the spellings of word pairs, then of words, each in the order of the text."""
    runs = [run for run in RUN.finditer(text) if not is_unspaced(run[0][0])]
    content = set(content_terms([run[0] for run in runs]))
    words = [run for run in runs if run[0] in content][:_MAX_WORDS]
    for one, other in pairwise(words):
        if text[one.end() : other.start()] in (" ", "-"):
            yield _TypedWord(one.start(), other.end(), join_words(vocabulary, (one[0], other[0])))
    for word in words:
        yield _TypedWord(word.start(), word.end(), spellings(vocabulary, word[0]))


def _apply_spellings(
    text: str,
    typed: Sequence[_TypedWord],
    visible: Mapping[str, tuple[str, str]],
    *,
    with_forms: bool = True,
) -> str:
    """Replace each word by its best visible spelling; pairs that are one word take precedence.

    Unless `with_forms`, words are left as they are whose spelling is another form of them.
    """
    replacements: dict[tuple[int, int], str] = {}
    for each in typed:
        is_taken = any(start < each.end and each.start < end for start, end in replacements)
        best = next((one for one in each.spellings if _is_visible(one, visible)), None)
        if best is not None and not is_taken:
            replacements[each.start, each.end] = best.text
    for (start, end), spelling in sorted(replacements.items(), reverse=True):
        if fold(spelling) != fold(text[start:end]) and (
            with_forms or not _is_form(fold(text[start:end]), fold(spelling))
        ):
            is_capitalised = text[start:end].istitle()
            text = text[:start] + (spelling.capitalize() if is_capitalised else spelling) + text[end:]
    return text


def _is_form(word: str, other: str) -> bool:
    """Return whether two folded words differ in nothing but inflected endings behind a long stem."""
    pairs = enumerate(zip(word, other, strict=False))
    stem = next((n for n, (one, two) in pairs if one != two), min(len(word), len(other)))
    return stem >= _MIN_STEM_CHARS and {word[stem:], other[stem:]} <= _ENDINGS


def _is_visible(spelling: Spelling, visible: Mapping[str, tuple[str, str]]) -> bool:
    phrase = f" {' '.join(words_of(spelling.text))} "
    return any(
        phrase in f" {' '.join(words_of(' '.join(visible[id_])))} "
        for id_ in spelling.chunk_ids
        if id_ in visible
    )
