"""Values of the operators that filter, as alternatives of a condition."""

import re
from collections.abc import Callable, Mapping
from datetime import UTC, datetime, timedelta
from functools import partial
from pathlib import Path
from typing import Final

from search.retrieval.code.languages import code_language_names
from search.retrieval.errors import InvalidGlob
from search.retrieval.query.conditions import Comparison, Field, Test, fold_case, one_of
from search.retrieval.query.dates import read_period
from search.retrieval.query.glob import compile_glob, compile_part, path_fits
from search.retrieval.query.stopwords import read_word_lists
from search.retrieval.query.titles import title_key

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
