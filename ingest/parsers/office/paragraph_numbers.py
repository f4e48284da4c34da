"""Automatic numbers of paragraphs in Word documents (ECMA-376 part 1, section 17.9)."""

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Final

WORD: Final = "{http://schemas.openxmlformats.org/wordprocessingml/2006/main}"
_PLACE: Final = re.compile(r"%([1-9])")
_ROMAN: Final = tuple(
    zip(
        (1000, 900, 500, 400, 100, 90, 50, 40, 10, 9, 5, 4, 1),
        ("m", "cm", "d", "cd", "c", "xc", "l", "xl", "x", "ix", "v", "iv", "i"),
        strict=True,
    )
)
#: Numbers above this are written as decimals: a file may start a list of Roman numbers at a billion.
_MOST: Final = 5_000
#: Levels of a list (section 17.9.6).
_LEVELS: Final = 9


@dataclass(frozen=True, slots=True, kw_only=True)
class _Level:
    start: int
    format: str
    #: With `%1` in the place of the first level's number, and so on.
    text: str
    style: str | None
    #: Whether the numbers of all levels are decimals.
    is_legal: bool
    #: Whether it goes on counting when a higher level does.
    never_restarts: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class _List:
    abstract_id: str
    levels: Mapping[int, _Level]
    #: By level, the number at which this list begins anew.
    restarts: Mapping[int, int]


class Numbering:
    """The numbers of a document's paragraphs, to be asked for in their order."""

    def __init__(self, root: Any | None) -> None:
        """Take the root of the numbering part; None without one."""
        self._lists = {} if root is None else _read_lists(root)
        #: By abstract list, which several lists may share, the last number of each level.
        self._counts: dict[str, dict[int, int]] = {}
        self._begun: set[tuple[str, int]] = set()

    def level_of_style(self, list_id: str, style: str) -> int:
        """Return the level of a list that a paragraph style stands for, the first by default."""
        numbered = self._lists.get(list_id)
        levels = numbered.levels.items() if numbered else ()
        return next((number for number, level in levels if level.style == style), 0)

    def next_label(self, list_id: str, depth: int) -> str:
        """Count a paragraph, and return its number as it is shown; '' for a bullet."""
        numbered = self._lists.get(list_id)
        level = None if numbered is None else numbered.levels.get(depth)
        if numbered is None or level is None or level.format == "bullet":
            return ""
        counts = self._counts.setdefault(numbered.abstract_id, {})
        if depth in numbered.restarts and (list_id, depth) not in self._begun:
            counts[depth] = numbered.restarts[depth] - 1
        self._begun.add((list_id, depth))
        counts[depth] = counts.get(depth, level.start - 1) + 1
        for other, known in numbered.levels.items():
            if other < depth:
                counts.setdefault(other, known.start)
            elif other > depth and not known.never_restarts:
                counts.pop(other, None)

        def number(place: re.Match[str]) -> str:
            at = int(place[1]) - 1
            known = numbered.levels.get(at)
            form = "decimal" if known is None or level.is_legal else known.format
            return write_number(counts.get(at, 1), form)

        return " ".join(_PLACE.sub(number, level.text).split())


def _read_lists(root: Any) -> dict[str, _List]:
    abstracts = {each.get(f"{WORD}abstractNumId"): each for each in root.iterchildren(f"{WORD}abstractNum")}
    by_style = {name: each for each in abstracts.values() if (name := value_of(each, "styleLink"))}
    found = {}
    for each in root.iterchildren(f"{WORD}num"):
        abstract_id = value_of(each, "abstractNumId") or ""
        abstract = abstracts.get(abstract_id)
        if abstract is None:
            continue
        abstract = by_style.get(value_of(abstract, "numStyleLink") or "", abstract)
        levels = {_depth(level): _read_level(level) for level in _levels(abstract, "lvl")}
        restarts = {}
        for override in _levels(each, "lvlOverride"):
            if (level := override.find(f"{WORD}lvl")) is not None:
                levels[_depth(override)] = _read_level(level)
            if (start := value_of(override, "startOverride")) is not None:
                restarts[_depth(override)] = _integer(start)
        found[each.get(f"{WORD}numId")] = _List(abstract_id=abstract_id, levels=levels, restarts=restarts)
    return found


def _levels(numbered: Any, name: str) -> Iterator[Any]:
    """Yield the elements of the levels that there are."""
    return (each for each in numbered.iterchildren(f"{WORD}{name}") if _depth(each) < _LEVELS)


def _read_level(level: Any) -> _Level:
    return _Level(
        start=_integer(value_of(level, "start") or "0"),
        format=value_of(level, "numFmt") or "decimal",
        text=value_of(level, "lvlText") or "",
        style=value_of(level, "pStyle"),
        is_legal=level.find(f"{WORD}isLgl") is not None,
        never_restarts=value_of(level, "lvlRestart") == "0",
    )


def _depth(element: Any) -> int:
    return _integer(element.get(f"{WORD}ilvl", "0"))


def _integer(text: str) -> int:
    return int(text) if text.isascii() and text.isdecimal() and len(text) < 10 else 0


def value_of(element: Any, name: str) -> str | None:
    """Return the `val` of the child `name`, None without one."""
    child = element.find(f"{WORD}{name}")
    return None if child is None else child.get(f"{WORD}val")


def write_number(number: int, form: str) -> str:
    """Return a number in a format of Word, as `lowerRoman`; a decimal for any other."""
    if form == "none":
        return ""
    if form == "decimalZero":
        return f"{number:02}"
    if form.endswith("Letter") and 0 < number <= _MOST:
        letters = chr(ord("a") + (number - 1) % 26) * ((number - 1) // 26 + 1)
        return letters.upper() if form.startswith("upper") else letters
    if form.endswith("Roman") and 0 < number <= _MOST:
        letters = ""
        for size, roman in _ROMAN:
            count, number = divmod(number, size)
            letters += roman * count
        return letters.upper() if form.startswith("upper") else letters
    return str(number)
