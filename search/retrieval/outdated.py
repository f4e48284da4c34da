"""Signals of outdated pages: what a page says of itself, and its edition among pages of the same title.

A page *about* archives or deprecation has the same words. In a title they count where they stand apart, as
in `Travel policy (superseded)`; in the text, in a sentence about the page near its start; as the name of a
folder or a tag, unless the title has that word, too.
"""

import posixpath
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from itertools import chain
from pathlib import Path
from typing import Final
from urllib.parse import unquote, urlsplit

from search.retrieval.query.metadata import TIMES, Value
from search.retrieval.query.stopwords import read_word_lists
from search.retrieval.query.titles import title_key
from search.retrieval.text.unicode_scripts import words_of

#: Metadata by which an editor, or the page, says that it is current or outdated, and what replaces it.
STATUS: Final = "status"
SUPERSEDED_BY: Final = "superseded_by"
VERIFIED: Final = "verified"
#: When a page that is verified becomes outdated.
NEVER: Final = float("inf")
_DAY_S: Final = 86_400.0

_Phrase = tuple[str, ...]
_LISTS: Final = {
    name: frozenset(tuple(words_of(phrase)) for phrase in text.split(","))
    for name, text in read_word_lists(Path(__file__).with_suffix(".txt")).items()
}
_OTHERS: Final = (
    *("archive", "old", "link", "this", "page", "but", "record"),
    *("status", "flag", "end", "successor", "none"),
)
_ARCHIVE, _OLD, _LINK, _THIS, _PAGE, _BUT, _RECORD, *_FIELDS = (_LISTS[name] for name in _OTHERS)
_STATUS, _FLAG, _END, _SUCCESSOR, _NONE = _FIELDS
_MARKERS: Final = frozenset(chain(*(_LISTS[name] for name in _LISTS if name not in _OTHERS)))
_NAMES: Final = _MARKERS | _ARCHIVE
_LONGEST: Final = max(map(len, _NAMES))
# Words of a query for an outdated page.
_EXPLICIT: Final = frozenset(phrase[0] for phrase in _NAMES | _OLD if len(phrase) == 1)
_OLDER: Final = "old"

# Where parts of titles and sentences end.
_ENDS: Final = re.compile(r"[()\[\]{}|:;!?。！？（）［］【】–—•]|\.(?=\s|$)|\s-+\s|^-+\s")
_YEAR: Final = r"(?:19[89]\d|20\d\d)"
_EDITION: Final = re.compile(
    rf"(?<![\w./-])(?:(?P<year>{_YEAR})(?:[/-](?:{_YEAR}|\d\d))?"
    r"|(?:v|rev|version|revision|fassung|édition|edition|ausgabe)[. ]{0,2}"
    r"(?P<version>\d{1,4}(?:\.\d{1,4}){0,3}))"
    r"(?![\w/-]|\.\d)",
    re.IGNORECASE,
)
# A page of a month or day is a record of it.
_DATE: Final = re.compile(
    rf"{_YEAR}[-./_]\d\d(?!\d)|{_YEAR}\d{{4}}|\d\d?[./]\d\d?[./]{_YEAR}|\b[qh][1-4]\b", re.IGNORECASE
)
_LINKED: Final = re.compile(r"\]\(<?([^)\s<>]{1,500})|\[\[([^\]|\n]{1,300})|`([^`\n]{1,300})\s?<")
_MARKUP: Final = re.compile(r"^[\s>*_~`#⚠️🚫❗!]+|\[!\w{1,20}\]")
_FIRST_CHARS: Final = 1_500
_FIRST_LINES: Final = 4
# Words between the beginning of a sentence about the page and the marker, also where a verb ends it.
_NEAR: Final = 5
_FAR: Final = 15
_MAX_TITLE_CHARS: Final = 300


@dataclass(frozen=True, slots=True, kw_only=True)
class Currency:
    """The statements of a page about being current."""

    #: The words of the title without edition and markers, by which editions are found; '' for none.
    family: str = ""
    #: A year or version, as it is shown; '' for none.
    edition: str = ""
    #: When it becomes outdated, in seconds since 1970: NEVER if it is verified; None if nothing says so.
    outdated_from: float | None = None
    #: The id of what replaces it, or the words of its title or file name; '' if it is not stated.
    successor: str = ""


def read_currency(
    *,
    title: str,
    path: str,
    tags: Iterable[str],
    values: Mapping[str, Sequence[Value]],
    text: str,
    is_prose: bool,
) -> Currency:
    """Return what a page says of itself: `values` are its `filter_values`, `text` that of its first chunk.

    Of what is no prose, and of documents of versions of a library, only the metadata counts.
    """
    fields = {tuple(words_of(name.replace("_", " "))): each for name, each in values.items()}
    successor = next((str(each[0]) for name, each in fields.items() if name in _SUCCESSOR), "")
    since = 0.0 if successor else _stated(fields, values)
    if is_prose and not successor and since != NEVER:
        says, successor = _first_sentences(text)
        if says or _is_marked_title(title) or _is_filed_away(title, path, tags):
            since = 0.0
    family, edition = family_and_edition(title, path) if is_prose else ("", "")
    return Currency(family=family, edition=edition, outdated_from=since, successor=_key_of(successor))


def is_newer(edition: str, dated_at: float | None, than: str, than_dated_at: float | None) -> bool:
    """Return whether a page is a newer edition than another one of its family; '' is the present one.

    A page without an edition is older than that of a year before which it was last changed.
    """
    own, other = _order(edition), _order(than)
    if own and other:
        return own[0] == other[0] and own > other
    if other:
        return dated_at is None or dated_at >= newer_from(than)
    return than_dated_at is not None and than_dated_at < newer_from(edition)


def newer_from(edition: str) -> float:
    """Return when a page of this edition takes effect: that of a year at its beginning."""
    found = _EDITION.fullmatch(edition)
    return datetime(int(found["year"]), 1, 1, tzinfo=UTC).timestamp() if found and found["year"] else 0.0


def _order(edition: str) -> tuple[str | float, ...]:
    """Return what orders editions of one kind; () for a page without."""
    found = _EDITION.fullmatch(edition)
    if found is None:
        return (edition,) if edition else ()
    return (
        ("year", float(found["year"])) if found["year"] else ("v", *map(float, found["version"].split(".")))
    )


def are_alike(text: str, other: str) -> bool:
    """Return whether two pages have so many words in common that one may replace the other."""
    words, others = ({word for word in words_of(each) if len(word) > 3} for each in (text, other))
    least = min(len(words), len(others))
    return least < _FEW_WORDS or len(words & others) >= _ALIKE * least


_FEW_WORDS: Final = 4
_ALIKE: Final = 0.4


def is_asked_for(words: Iterable[str], edition: str) -> bool:
    """Return whether a query of these words asks for outdated pages, or for this edition."""
    asked = frozenset(words)
    return not asked.isdisjoint(_EXPLICIT) or (bool(edition) and asked.issuperset(words_of(edition)))


def _stated(fields: Mapping[_Phrase, Sequence[Value]], values: Mapping[str, Sequence[Value]]) -> float | None:
    """Return when a page becomes outdated by its metadata; None if that doesn't say so."""
    status = [words_of(str(value)) for name in _STATUS for value in fields.get(name, ())]
    flags = [tuple(words_of(str(value))) for name in _FLAG for value in fields.get(name, ())]
    if [VERIFIED] in status:
        return NEVER
    if any(_begins_marked(words, _NAMES) for words in status) or any(flag not in _NONE for flag in flags):
        return 0.0
    names = (name for name in values if tuple(words_of(name.replace("_", " "))) in _END)
    ends = [float(time) for name in names for time in values.get(name + TIMES, ())]
    return min(ends) + _DAY_S if ends else None


def _begins_marked(words: Sequence[str], phrases: frozenset[_Phrase] = _MARKERS) -> bool:
    """Return whether words begin with one of the phrases, and end there or go on with who, where or when."""
    for size in range(1, min(_LONGEST, len(words)) + 1):
        if tuple(words[:size]) in phrases:
            rest = words[size : size + 1]
            if not rest or (rest[0],) in _LINK or rest[0].isdecimal():
                return True
    return False


def _is_marked_title(title: str) -> bool:
    title = title[:_MAX_TITLE_CHARS]
    parts = [part for part in _ENDS.split(title) if part.strip()]
    if len(parts) > 1:
        bracketed = re.findall(r"[(\[{（［【]([^()\[\]]{1,100})", title)
        return any(_begins_marked(words_of(part)) for part in parts) or any(
            tuple(words_of(part)) in _ARCHIVE for part in bracketed
        )
    words = title.split()
    ends = [words[0], words[-1]] if len(words) > 1 else []
    return title.upper() != title and any(
        len(word) > 2 and word.isupper() and tuple(words_of(word)) in _NAMES for word in ends
    )


def _is_filed_away(title: str, path: str, tags: Iterable[str]) -> bool:
    """Return whether a folder or a tag says that it is outdated, in a word that its title doesn't have."""
    own = frozenset(words_of(title))
    for name in (*path.split("/")[:-1], *tags):
        words = tuple(word for word in words_of(name.replace("_", " ")) if not word.isdecimal())
        if words in _NAMES and own.isdisjoint(words):
            return True
    return False


def _first_sentences(text: str) -> tuple[bool, str]:
    """Return whether one of the first sentences says that the page is outdated, and where it links to."""
    lines = [line for line in text[:_FIRST_CHARS].splitlines() if line.strip(" \t=-~*_#>")]
    prose = [line for line in lines if not re.match(r"\s*(?:#|[-+*]\s|\d+[.)]\s|\|)", line)][:_FIRST_LINES]
    for number, line in enumerate(prose):
        shown = re.sub(r"\]\([^)\s]{0,500}\)", "] ", _MARKUP.sub("", line))
        sentences = [words for part in _ENDS.split(shown) if (words := words_of(part.replace("_", " ")))]
        for place, words in enumerate(sentences[:3]):
            is_first = place == 0 or len(sentences[place - 1]) == 1
            if (is_first and _begins_marked(words)) or _says_of_itself(words):
                linked = _LINKED.search("\n".join(prose[number : number + 2]))
                named = next(filter(None, linked.groups()), "") if linked else _named_after(words)
                return True, named
    return False, ""


def _says_of_itself(words: Sequence[str]) -> bool:
    """Return whether a sentence such as `This page is superseded by ...` says that the page is outdated."""
    if not ((words[0],) in _THIS or (len(words) > 1 and (words[1],) in _PAGE)):
        return False
    for start in range(1, min(len(words), _FAR)):
        if _begins_marked(words[start:]) or any(
            tuple(words[start : start + size]) in _MARKERS for size in range(2, _LONGEST + 1)
        ):
            return True
        is_far = start >= _NEAR and not any((word,) in _LINK for word in words[2:5])
        if is_far or (words[start],) in _BUT:
            return False
    return False


def _named_after(words: Sequence[str]) -> str:
    """Return the title that follows `by`, as in `Superseded by Travel policy`; '' without any."""
    places = [place for place, word in enumerate(words) if word in ("by", "durch", "par", "por", "door")]
    return " ".join(words[places[0] + 1 : places[0] + 12]) if places else ""


def family_and_edition(title: str, path: str) -> tuple[str, str]:
    """Return the words of the title without edition and markers, and the edition of title, name or folder."""
    title = title[:_MAX_TITLE_CHARS]
    stem = posixpath.splitext(posixpath.basename(path))[0].replace("_", " ")
    if _DATE.search(title) or _DATE.search(stem):
        return "", ""
    found = _EDITION.search(title)
    edition = found[0] if found else ""
    parts = [part for part in _ENDS.split(_EDITION.sub(" ", title)) if part.strip()]
    kept = [part for part in parts if not _begins_marked(words_of(part), _NAMES)] or parts
    words = words_of(" ".join(kept))
    if len(words) > 1 and ((words[0],) in _OLD or (words[0],) in _MARKERS):
        words, edition = words[1:], edition or _OLDER
    elif len(words) > 1 and ((words[-1],) in _OLD or (words[-1],) in _MARKERS):
        words, edition = words[:-1], edition or _OLDER
    family = " ".join(words)
    if any(f" {' '.join(record)} " in f" {family} " for record in _RECORD):
        return "", ""
    return family, edition or _edition_of_path(stem, path)


def _edition_of_path(stem: str, path: str) -> str:
    words = words_of(stem.replace("-", " "))
    if len(words) > 1 and {(words[0],), (words[-1],)} & (_OLD | _MARKERS):
        return _OLDER
    names = (stem, *reversed(path.split("/")[:-1]))
    return next((found[0] for name in names if (found := _EDITION.search(name.replace("-", " ")))), "")


def _key_of(successor: str) -> str:
    """Return the words of the title or of the file name that is stated, or the id."""
    target = unquote(urlsplit(successor).path).strip("/")
    name = target if "/" not in target and "." not in target else posixpath.basename(target)
    return title_key(re.sub(r"\.\w{1,5}$", "", name))
