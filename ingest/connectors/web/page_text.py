"""Fingerprints of a page's text, by which equal pages and changes are told, in time linear in the page.

They cover what a reader sees, in any order of its lines: no attributes, scripts and comments, and so no
tokens; no moments at which a page was made, and no counters of its visitors. Words with digits are kept
apart, since some of them differ at every request.
"""

import hashlib
import re
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from typing import Any, Final, Self
from urllib.parse import unquote, urlsplit

from ingest.connectors.web.links import parse_attributes, unescape

# What follows is compared as it is; so much takes up to three seconds.
_MAX_CHARS: Final = 1_000_000
# Lines whose words with digits are kept apart; the others must be equal.
_MAX_NUMBERED_LINES: Final = 300
_DIGEST_BYTES: Final = 8
_TAG = re.compile(r"<(?:(!--)|(/?)([a-z][a-z0-9-]*))", re.IGNORECASE)
_UNREAD = frozenset({"script", "style", "noframes", "iframe"})
_INLINE_NAMES = """
a abbr acronym b bdi bdo big cite code del dfn em font i ins kbd mark q s samp small span strike strong sub
sup td th time tt u var wbr
"""
_INLINE = frozenset(_INLINE_NAMES.split())
#: elements around the text that a page is about
_CHROME = frozenset({"nav", "header", "footer", "aside"})
_STATED = frozenset({"author", "description", "keywords"})
_EMPTY_ROOT = re.compile(r"""<(?:div|main|[a-z]+-root)\b[^<>]{0,200}>\s*</""", re.IGNORECASE)
_ROOT_ID = re.compile(
    r"""\bid=["']?(?:root|app|__next|__nuxt|___gatsby|main|svelte)\b|-root\b""", re.IGNORECASE
)
_SHELL_MARK = re.compile("<(script|noscript|frameset)", re.IGNORECASE)
_MAX_SHELL_WORDS: Final = 20
#: of a page that shows nothing but that it loads, or needs scripts
_MAX_NOTICE_WORDS: Final = 5
_NEEDS_SCRIPT = re.compile(
    r"(?:enable|activate|requires?|needs?|without|turn on|aktivieren|benötigt|active[zr]?|habilit\w{1,5})"
    r"\W{1,3}(?:\w{1,12}\W{1,3}){0,3}java\s?script|java\s?script\W{1,3}(?:\w{1,12}\W{1,3}){0,3}"
    r"(?:disabled|required|enabled|needed|aktivieren|erforderlich|désactivé|desactivado)|^loading\b",
    re.IGNORECASE,
)
_MAX_ERROR_WORDS: Final = 200
_SAYS_MISSING = re.compile(
    r"\b404\b|not found|n(?:o|['’])t (?:exist|find)|cannot find|no longer|no such|oops|sorry|nothing here"
    r"|nicht gefunden|existiert nicht|introuvable|n['’]existe pas|no encontrad|no existe|non trovat"
    r"|não encontrad|niet gevonden|nie znalezion|не найден|не существует|не знайден|見つかりません|找不到",
    re.IGNORECASE,
)
_DIGIT = re.compile(r"\d")
#: Words longer than that may be random, with or without digits.
_MAX_WORD_CHARS: Final = 20
_DATE_WORDS = """
january february march april may june july august september october november december jan feb mar apr jun jul
aug sep sept oct nov dec januar februar märz mai juni juli oktober dezember mär mrz okt dez janvier février
mars avril juin juillet août septembre octobre novembre décembre enero febrero marzo abril mayo junio julio
agosto septiembre octubre noviembre diciembre gennaio febbraio aprile maggio giugno luglio settembre ottobre
dicembre januari februari maart mei augustus janeiro fevereiro março maio junho julho setembro outubro
novembro dezembro monday tuesday wednesday thursday friday saturday sunday mon tue wed thu fri sat sun mo tu
th fr sa su montag dienstag mittwoch donnerstag freitag samstag sonntag di mi lundi mardi mercredi jeudi
vendredi samedi dimanche lun mer jeu ven sam dim lunes martes miércoles jueves viernes sábado domingo day week
month year tag woche kw monat jahr jour semaine mois día semana mes año
"""
#: Words of dates in some languages, lower case.
DATE_NAMES: Final = frozenset(_DATE_WORDS.split())
_DAY_NUMBER = re.compile(r"[0-5]?\d(?:st|nd|rd|th)?")
_DATE_NUMBER = re.compile(r"(?:19|20|21)\d\d|\d{1,4}[-/.]\d{1,2}(?:[-/.]\d{1,4})?")
_MARKS = " .,;:!?()[]«»‹›“”„‘’<>|/–—-\"'"
_CLOCK = r"\d{1,2}:\d\d(?::\d\d)?(?:[.,]\d{1,9})?(?: ?[AP]M\b)?"
# A moment to the second, or as programs write it, is hardly one that people planned.
_MOMENT = re.compile(
    rf"\b\d{{4}}-\d\d-\d\d[T ]{_CLOCK}(?: ?Z\b| ?[+-]\d\d:?\d\d)?|\b\d{{1,2}}:\d\d:\d\d(?:[.,]\d{{1,9}})?",
    re.IGNORECASE,
)
# Words beside the date or the time at which a page was made, or looked at.
_STAMP = re.compile(
    r"\b(?:generated|rendered|built|created|cached|printed|retrieved|accessed|loaded|served|updated|refreshed"
    r"|now|today|current(?:ly)?|server time|local time|as of"
    r"|stand|heute|jetzt|erzeugt|erstellt|generiert|aktualisiert|abgerufen|gedruckt"
    r"|généré|mise? à jour|aujourd.hui|imprimé|actualizad[oa]|generad[oa]|hoy|generato|aggiornat[oa])\b",
    re.IGNORECASE,
)
_MAX_STAMP_WORDS: Final = 20
_TIMED = re.compile(_CLOCK, re.IGNORECASE)
_NUMBER = r"\d[\d,.]{0,20}"
# Counters of visitors, the time that a page took, and ids of sessions, also in addresses.
_COUNTER = re.compile(
    rf"\b{_NUMBER} (?:page )?views?\b|\bviewed {_NUMBER} times\b"
    r"|\b(?:views?|visits?|visitors?|hits|Aufrufe|Besucher|Zugriffe|vues|visites|visiteurs|visitas)"
    rf"(?: ?[:#]| Nr\.| no\.| number) ?{_NUMBER}"
    r"|\bin \d{1,6}[.,]\d{2,9} ?(?:ms|s|sec|seconds|Sekunden|secondes)\b"
    r"|\b(?:session|token|nonce|csrf|request|trace)(?: ?id)?\W{1,3}(?=[a-z-]{0,30}\d)[\w-]{8,64}"
    r"|[/=;(](?=[a-z]{0,30}\d)[0-9a-z]{16,64}\b",
    re.IGNORECASE,
)


@dataclass(frozen=True, slots=True, kw_only=True)
class PageText:
    """Fingerprints of a page; those of two pages are equal if their texts are. Without text they are ''."""

    #: all lines
    text: str = ""
    #: all lines, with a mark for each word with digits
    words: str = ""
    #: by lines with such marks, the lines as they are
    numbers: Mapping[str, str] = field(default_factory=dict)
    #: the lines outside of navigation, header and footer
    main: str = ""
    #: all lines, without dates
    undated: str = ""
    #: the main lines without the page's own address, if it may say that it does not exist
    missing: str = ""
    #: whether it has no text before its scripts run, or holds other pages in frames
    is_shell: bool = False

    @classmethod
    def of_bytes(cls, content: bytes) -> Self:
        """Return the fingerprint of content that is no HTML."""
        digest = hashlib.sha256(content).hexdigest() if content else ""
        return cls(text=digest, words=digest, main=digest)

    @classmethod
    def of_html(cls, html: str, url: str) -> Self:
        """Return the fingerprints of the page at an address."""
        lines = list(_lines(html[:_MAX_CHARS]))
        shown = [_without_moments(line.text) for line in lines]
        main = [text for text, line in zip(shown, lines, strict=True) if line.is_main] or shown
        shown += [_digest([rest])] if (rest := html[_MAX_CHARS:]) else []
        words, numbers = _split_numbers(shown)
        main_words = sum(len(line.text.split()) for line in lines if line.is_main)
        is_error = main_words <= _MAX_ERROR_WORDS and any(map(_SAYS_MISSING.search, shown))
        return cls(
            text=_digest(shown),
            words=words,
            numbers=numbers,
            main=_digest(main),
            undated=_digest(filter(None, map(_without_dates, shown))),
            missing=_digest(map(_mark_numbers, _without_address(main, url))) if is_error else "",
            is_shell=_is_shell(html, lines, main_words),
        )

    def to_json(self) -> dict[str, Any]:
        """Return what is stored."""
        return {name: value for name, value in asdict(self).items() if value}

    def changed_numbers(self, other: "PageText") -> set[str] | None:
        """Return the lines whose words with digits differ; None if other words do."""
        if not self.words or self.words != other.words:
            return None
        return {line for line, digest in self.numbers.items() if other.numbers.get(line) != digest}


@dataclass(frozen=True, slots=True)
class _Line:
    text: str
    is_main: bool
    #: whether it is shown only without scripts
    is_hidden: bool


def _lines(html: str) -> Iterator[_Line]:
    """Yield the lines of text that a page shows, and what it states about itself."""
    depths = dict.fromkeys((*_CHROME, "noscript", "title"), 0)
    pieces: list[str] = []
    at = 0
    while at >= 0:
        tag = _TAG.search(html, at)
        pieces.append(html[at:] if tag is None else html[at : tag.start()])
        if tag is not None and tag[1]:
            end = html.find("-->", tag.end() - 2)
            at = end + 3 if end >= 0 else len(html)
            continue
        name = "" if tag is None else tag[3].lower()
        if name not in _INLINE:
            if text := " ".join(unescape("".join(pieces)).split()):
                is_hidden = bool(depths["noscript"] or depths["title"])
                yield _Line(text, not is_hidden and not any(map(depths.__getitem__, _CHROME)), is_hidden)
            pieces = []
        elif name in ("td", "th"):
            pieces.append(" ")
        if tag is None:
            return
        if name in depths:
            depths[name] = max(0, depths[name] + (-1 if tag[2] else 1))
        if name in _UNREAD and not tag[2]:
            closing = re.compile(f"</{name}", re.IGNORECASE).search(html, tag.end())
            at = -1 if closing is None else html.find(">", closing.end())
        elif name in ("meta", "img"):
            attributes, at = parse_attributes(html, tag.end())
            stated = attributes.get("content", "") if attributes.get("name", "").lower() in _STATED else ""
            if text := " ".join((attributes.get("alt", "") or stated).split()):
                yield _Line(text, False, name == "meta")
            continue
        else:
            at = html.find(">", tag.end())
        at = at + 1 if at >= 0 else -1


def _is_shell(html: str, lines: Sequence[_Line], main_words: int) -> bool:
    """Return whether a page is empty: its text comes with scripts, or is in frames."""
    marks = _SHELL_MARK.findall(html) if main_words <= _MAX_SHELL_WORDS else []
    if not marks or "frameset" in map(str.lower, marks):
        return bool(marks)
    if all(line.is_hidden for line in lines) or any(
        _ROOT_ID.search(found[0]) for found in _EMPTY_ROOT.finditer(html)
    ):
        return True
    is_bare = main_words <= _MAX_NOTICE_WORDS
    return any(_NEEDS_SCRIPT.search(line.text) for line in lines if is_bare or not line.is_hidden)


def _without_moments(line: str) -> str:
    """Return a line without counters, and the moment at which the page was made."""
    if _DIGIT.search(line) is None:
        return line
    line = _COUNTER.sub("#", _MOMENT.sub("#", line))
    is_stamp = _STAMP.search(line) is not None and len(line.split()) <= _MAX_STAMP_WORDS
    return _without_dates(_TIMED.sub("#", line)) if is_stamp else line


def _is_date(word: str) -> bool:
    plain = word.strip(_MARKS).casefold()
    is_path = word.startswith("/")  # one that is shown may have a date, too
    return is_path or plain in DATE_NAMES or _DATE_NUMBER.fullmatch(plain) is not None


def _without_dates(line: str) -> str:
    """Return a line without its dates, and the numbers of days beside them; without all in a row of such."""
    words = line.split()
    days = [_DAY_NUMBER.fullmatch(word.strip(_MARKS)) is not None for word in words]
    dates = [_is_date(word) for word in words]
    if all(day or date for day, date in zip(days, dates, strict=True)):
        return ""
    near = [before or after for before, after in zip([False, *dates], [*dates[1:], False], strict=False)]
    return " ".join(
        word
        for word, day, date, is_near in zip(words, days, dates, near, strict=True)
        if not date and not (day and is_near)
    )


def _without_address(lines: Iterable[str], url: str) -> Iterator[str]:
    """Yield the lines with a mark for each word that is the page's own address or its name."""
    split = urlsplit(unquote(url))
    last = split.path.rstrip("/").rpartition("/")[2]
    values = [part.partition("=")[2] for part in split.query.split("&")]
    key = f"{split.path}?{split.query}"
    own = {name.strip(_MARKS) for name in (url, key, split.path, last, last.partition(".")[0], *values)}
    for line in lines:
        yield " ".join("#" if word.strip(_MARKS) in own else word for word in line.split())


def _mark_numbers(line: str) -> str:
    return " ".join(
        "#" if _DIGIT.search(word) or len(word) > _MAX_WORD_CHARS else word for word in line.split()
    )


def _split_numbers(lines: Iterable[str]) -> tuple[str, dict[str, str]]:
    """Return the fingerprint of lines without their numbers, and those of the lines with numbers."""
    marked: list[str] = []
    numbered: dict[str, list[str]] = defaultdict(list)
    for line in lines:
        form = _mark_numbers(line)
        if form == line or (form not in numbered and len(numbered) >= _MAX_NUMBERED_LINES):
            marked.append(line)
        else:
            marked.append(form)
            numbered[form].append(line)
    return _digest(marked), {_digest([form]): _digest(each) for form, each in numbered.items()}


def _digest(lines: Iterable[str]) -> str:
    """Return the fingerprint of lines in any order; '' without any."""
    ordered = sorted(lines)
    if not ordered:
        return ""
    return hashlib.blake2b("\n".join(ordered).encode(errors="replace"), digest_size=_DIGEST_BYTES).hexdigest()
