"""Operators that people type in a query: exclusions, required phrases and filters.

`-word` and `-"a phrase"` exclude passages, `"a phrase"` is required, keys such as `path:` filter, and
`-path:` excludes. All of it is text in a raw query and in a paste (a line break, or more than 500
characters); words and phrases are text in a command or in code, too (`git commit -m "x"`).
"""

import re
from collections import defaultdict
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta
from functools import partial
from itertools import islice
from pathlib import Path
from typing import Final

from search.retrieval.code.languages import code_language_names
from search.retrieval.errors import InvalidGlob, preview
from search.retrieval.query.conditions import (
    AnyOf,
    Comparison,
    Condition,
    Field,
    NamedCondition,
    Not,
    Test,
    fold_case,
    merge,
    one_of,
)
from search.retrieval.query.dates import read_period
from search.retrieval.query.glob import compile_glob, compile_part, path_fits
from search.retrieval.query.match_units import Analysis, build_units
from search.retrieval.query.parser import parse_query
from search.retrieval.query.stopwords import is_stop_word, language_of, read_word_lists
from search.retrieval.query.titles import title_key
from search.retrieval.text.sanitize import is_storable
from search.retrieval.text.unicode_scripts import has_token, is_unspaced, words_of

#: The comparisons of an operator, of which one must be met.
Alternatives = tuple[Comparison, ...]

_LISTS: Final = read_word_lists(Path(__file__).with_suffix(".txt"))


def _read_pairs(name: str) -> dict[str, str]:
    return dict(pair.split("=") for pair in _LISTS[name].split())


_MEDIA: Final = _read_pairs("media")
_TYPES: Final = _read_pairs("types") | {ending: f".{ending}" for ending in _LISTS["endings"].split()}
_LANGUAGES: Final = _read_pairs("languages")
_PROGRAMMING: Final = frozenset(_LISTS["programming"].split())
_LANGUAGE_CODE = re.compile("[a-z]{2}(?:-[a-z]{2,4})?|und")
_AGO = re.compile(r"-?(\d{1,6})([dwmy])", re.ASCII)
_DAYS_OF: Final = {"d": 1, "w": 7, "m": 30, "y": 365}


def _read_words(field: Field, value: str) -> Alternatives:
    """Return the condition that a field has these words in a row; the last may be the beginning of a word."""
    key = title_key(value)
    return (Comparison(field=field, test="has_words", values=(key,)),) if key else ()


def _read_path(value: str) -> Alternatives:
    """Return the condition that a path has this part, or fits this pattern.

    A pattern without a slash is that of a file name in any folder.
    """
    part = fold_case(value).lstrip("/")
    if part and set("*?[").isdisjoint(part):
        return (path_fits(compile_part(part)),)
    try:
        return (path_fits(compile_glob(part if "/" in part else f"**/{part}")),)
    except InvalidGlob:
        return ()


def _read_type(value: str) -> Alternatives:
    """Return the condition on the kind of a document, or on the ending of its file name."""
    name = value.lower().removeprefix(".")
    if name not in _MEDIA and name not in _TYPES:
        name = name.removesuffix("s")
    if name in _MEDIA:
        return (one_of("media", [_MEDIA[name]]),)
    endings = _TYPES[name].split(",") if name in _TYPES else []
    return (path_fits(*(compile_glob(f"**/*{ending}") for ending in endings)),) if endings else ()


def _read_language(value: str) -> Alternatives:
    """Return the condition on the language of a document, or on the programming language of a passage."""
    name = value.lower()
    code, programming = _LANGUAGES.get(name, name), code_language_names([name])
    found: Alternatives = (one_of("lang", [code]),) if _LANGUAGE_CODE.fullmatch(code) else ()
    if len(programming) > 1 or name in _PROGRAMMING:
        found += (one_of("code_lang", programming),)
    return found


def _days_ago(value: str) -> datetime | None:
    """Return the start of the day some days, weeks, months or years ago, as `7d`; None for other values."""
    found = _AGO.fullmatch(value.lower())
    try:
        days = int(found[1]) * _DAYS_OF[found[2]] if found else -1
        start = datetime.now(UTC).replace(hour=0, minute=0, second=0, microsecond=0)
        return start - timedelta(days=days) if days >= 0 else None
    except (OverflowError, ValueError):
        return None


def _read_date(test: Test, value: str) -> Alternatives:
    period = read_period(value)
    start = period[0] if period else _days_ago(value)
    return () if start is None else (Comparison(field="dated_at", test=test, values=(start,)),)


#: Each returns the alternatives of a value; none for a value without a meaning.
READERS: Final[Mapping[str, Callable[[str], Alternatives]]] = {
    "title": partial(_read_words, "title"),
    "path": _read_path,
    "source": lambda value: (one_of("source", [value]),),
    "type": _read_type,
    "lang": _read_language,
    "author": partial(_read_words, "author"),
    "tag": lambda value: (one_of("tag", [value]),),
    "after": partial(_read_date, "gte"),
    "before": partial(_read_date, "lt"),
}
#: Those whose value is a name, and may be any word.
NAMES: Final = frozenset({"title", "path", "source", "author", "tag"})
#: What to write instead of a value without a meaning.
REMEDIES: Final = {
    "title": "write words of a title",
    "author": "write a name",
    "path": "write a part of a path, or a pattern like guides/*.md",
    "type": "write pdf, office, email, image, code, text or the ending of a file name, like docx",
    "lang": "write a language like German or de, or a programming language like python",
    "after": "write a date like 2026, 2026-03 or 2026-03-05, or 7d for seven days ago",
    "before": "write a date like 2026, 2026-03 or 2026-03-05, or 7d for seven days ago",
}


#: Maximum length of a query with operators, in characters; a longer one is pasted.
MAX_CHARS: Final = 500
#: Maximum number of operators; further ones are text.
MAX_OPERATORS: Final = 32
_MIN_LETTERS = 3
# Signs of a value that is no word of a text: a folder, a pattern.
_WORDING: Final = frozenset("/*?[")

#: Returns whether a condition is met by anything that a reader may read.
IsMet = Callable[[Condition], bool]

_MARKS = '"“”„«»'
_QUOTED = '"[^"]{1,200}"|[“”„][^“”„]{1,200}[“”]|«[^«»]{1,200}»|»[^«»]{1,200}«'
_ANY_QUOTED = re.compile(_QUOTED)
_OPERATOR = re.compile(
    rf"(?<!\S)(?P<sign>-?)(?:(?P<key>{'|'.join(READERS)}):)?"
    rf"(?:(?P<quoted>{_QUOTED})|(?<=[-:])(?P<bare>(?:[^\s{_MARKS}:=-]|(?<=:)-\w)[^\s{_MARKS}]*?))[.,;:!?)]*(?!\S)",
    re.IGNORECASE,
)
# An option of a command, as `--all`, `-m`, `-O2`, `-std=c99`, or a string in code, as `f("x")`.
_CODE = re.compile(r'(?<!\S)(?:--\w|-[A-Za-z]\d*(?!\S)|-\w[\w-]*=)|[({\[=]"')
_WORD = re.compile(r"[^\W\d_]\w*(?:[-.'’]\w+)*[+#]*")


@dataclass(frozen=True, slots=True, kw_only=True)
class QueryOperators:
    """The operators of a query, and its other text."""

    #: The query with blanks in the place of operators, of the same length; marks of required phrases are `"`.
    text: str
    #: All of them must be met.
    conditions: tuple[NamedCondition, ...]
    #: Messages on what was taken for text, and on missing words.
    warnings: tuple[str, ...]
    #: The analysis of the words in conditions.
    analysis: Analysis

    @property
    def typed(self) -> list[str]:
        """Return the operators as typed."""
        return [condition.name for condition in self.conditions]

    def messages(self, *, has_hits: bool) -> tuple[str, ...]:
        """Return the messages for a result."""
        if has_hits or not self.conditions:
            return self.warnings
        if not has_token(self.text):
            return (*self.warnings, "There are no words to search for; type some beside the filters.")
        return (
            *self.warnings,
            f"Nothing was found that meets {', '.join(self.typed)}; leave some of it out.",
        )


def parse_operators(text: str, analysis: Analysis, is_met: IsMet = lambda _: True) -> QueryOperators | None:
    """Return the operators of a query; None if it is text alone.

    A name that nothing meets, as `tag:latest` in a text about images, is text. Exclusions alone are text:
    there must be words, or a filter, beside them. A query of nothing but operators is searched for the words
    of its titles and paths. A key typed again adds an alternative.
    """
    if not may_have_operators(text) or len(text.splitlines()) > 1 or parse_query(text).raw is not None:
        return None
    return _Parser(text, analysis, is_met).parse()


def may_have_operators(text: str) -> bool:
    """Return whether a query has something that looks like an operator."""
    return len(text) <= MAX_CHARS and _OPERATOR.search(text) is not None


class _Parser:
    """A parser of one query."""

    def __init__(self, text: str, analysis: Analysis, is_met: IsMet) -> None:
        self._text = text
        self._is_met = is_met
        self._analysis = analysis
        self._language = language_of(words_of(text))
        self._is_code = _CODE.search(_ANY_QUOTED.sub('""', text)) is not None
        self._left = list(text)
        self._conditions: dict[object, tuple[str, bool, Alternatives]] = {}
        self._warnings: list[str] = []
        # The filters that include names, by key.
        self._named: defaultdict[str, list[re.Match[str]]] = defaultdict(list)

    def parse(self) -> QueryOperators | None:
        for match in islice(_OPERATOR.finditer(self._text), MAX_OPERATORS):
            if match["key"]:
                self._read_filter(match)
            elif not self._is_code and _has_words(match, self._language):
                self._read_words(match)
        for key, matches in self._named.items():
            self._check_name(key, matches)
        if not has_token("".join(self._left)):
            if all(isinstance(key, int) for key in self._conditions):
                return None
            self._search_names()
        if not (self._conditions or self._warnings):
            return None
        return QueryOperators(
            text="".join(self._left),
            conditions=tuple(_name_condition(*each) for each in self._conditions.values()),
            warnings=tuple(self._warnings),
            analysis=self._analysis,
        )

    def _read_words(self, match: re.Match[str]) -> None:
        typed = self._text[_place_of_value(match)]
        (unit,) = build_units([typed], self._analysis, self._language)
        if match["quoted"]:
            unit = replace(unit, written=typed)
        self._add(match, match.start(), (Comparison(field="words", test="has_words", values=(unit,)),))
        if match["sign"]:
            self._blank(match)
        else:
            start, end = match.span("quoted")
            self._left[start] = self._left[end - 1] = '"'

    def _read_filter(self, match: re.Match[str]) -> None:
        key, place = match["key"].lower(), _place_of_value(match)
        value = self._text[place]
        alternatives = READERS[key](value) if is_storable(value) else ()
        if not alternatives:
            self._warnings.append(f"{preview(match[0])} was searched for as text; {REMEDIES[key]}.")
            return
        self._add(match, (key, match["sign"]), alternatives)
        self._blank(match)
        if key in NAMES and not match["sign"]:
            self._named[key].append(match)

    def _check_name(self, key: str, matches: list[re.Match[str]]) -> None:
        """Take filters for text that nothing meets, unless they are clearly meant as filters."""
        typed, _, alternatives = self._conditions[key, ""]
        is_clear = any(match["quoted"] or not _WORDING.isdisjoint(match["bare"]) for match in matches)
        if is_clear or self._is_met(AnyOf(merge(alternatives))):
            return
        del self._conditions[key, ""]
        for match in matches:
            self._left[slice(*match.span())] = match[0]
        matches.clear()
        self._warnings.append(f"{preview(typed)} was searched for as text, as nothing has this {key}.")

    def _add(self, match: re.Match[str], key: object, alternatives: Alternatives) -> None:
        typed = self._text[match.start() : max(match.end("quoted"), match.end("bare"))]
        if key in self._conditions:
            before, _, earlier = self._conditions[key]
            typed, alternatives = f"{before} {typed}", earlier + alternatives
        self._conditions[key] = typed, bool(match["sign"]), alternatives

    def _blank(self, match: re.Match[str]) -> None:
        self._left[match.start() : match.end()] = " " * len(match[0])

    def _search_names(self) -> None:
        for match in (*self._named["title"], *self._named["path"]):
            place = _place_of_value(match)
            self._left[place] = self._text[place]


def _name_condition(typed: str, is_exclusion: bool, alternatives: Alternatives) -> NamedCondition:
    condition = AnyOf(merge(alternatives))
    return NamedCondition(name=typed, condition=Not(condition) if is_exclusion else condition)


def _place_of_value(match: re.Match[str]) -> slice:
    """Return the place of the value, without its quotation marks."""
    if match["quoted"] is None:
        return slice(*match.span("bare"))
    start, end = match.span("quoted")
    return slice(start + 1, end - 1)


def _has_words(match: re.Match[str], language: str | None) -> bool:
    """Return whether a phrase has a word, or a single word is neither short nor a stop word."""
    if match["quoted"]:
        return has_token(match["quoted"])
    word = match["bare"]
    is_long = sum(map(str.isalpha, word)) >= _MIN_LETTERS or is_unspaced(word[0])
    return is_long and _WORD.fullmatch(word) is not None and not is_stop_word(word, language)
