"""Parser of path patterns: names, and within them literals, stars and character classes."""

import re
import unicodedata
from dataclasses import dataclass

from search.retrieval.errors import InvalidGlob, preview


@dataclass(frozen=True, slots=True)
class Literal:
    """Characters that stand for themselves."""

    text: str


@dataclass(frozen=True, slots=True)
class OneOf:
    """One character of a class, as a bracket expression with the same meaning in Python and PostgreSQL."""

    bracket: str


@dataclass(frozen=True, slots=True)
class AnyOne:
    """`?`: one character of a name."""


@dataclass(frozen=True, slots=True)
class AnyRun:
    """`*`: any number of characters of a name."""


Part = Literal | OneOf | AnyOne | AnyRun

_TOKEN = re.compile(
    r"(?P<star>\*+)|(?P<one>\?)|(?P<slash>/)"
    # A ']' directly after the '[', or after its '!', is a member.
    r"|\[(?P<negated>[!^]?+)(?P<members>\][^\]]*|[^\]]+)\]|(?P<open>\[)|(?P<text>[^*?/\[]+)"
)
_MEMBER = re.compile(r"(?P<low>.)-(?P<high>.)|(?P<single>.)", re.DOTALL)
_SLASH = ord("/")


def parse_names(pattern: str) -> list[list[Part] | None]:
    """Return the parts of each name between slashes; None for a name that is `**`.

    Raises: InvalidGlob for an unclosed or impossible class and for characters no path has.
    """
    _refuse_control_characters(pattern)
    names: list[list[Part]] = [[]]
    doubled: list[bool] = [False]
    for token in _TOKEN.finditer(pattern):
        if token["slash"]:
            names.append([])
            doubled.append(False)
        else:
            doubled[-1] = not names[-1] and token["star"] == "**"
            names[-1].append(_parse_part(token, pattern))
    return [None if double else name for name, double in zip(names, doubled, strict=True)]


def _refuse_control_characters(pattern: str) -> None:
    if any(unicodedata.category(character) in {"Cc", "Cs"} for character in pattern):
        raise InvalidGlob(
            f"The pattern {preview(pattern)} holds a control character; no path has one. Remove it."
        )


def _parse_part(token: re.Match[str], pattern: str) -> Part:
    if token["star"]:
        return AnyRun()
    if token["one"]:
        return AnyOne()
    if token["text"]:
        return Literal(token["text"])
    if token["open"]:
        raise InvalidGlob(
            f"The '[' at {token.start() + 1} of {preview(pattern)} has no ']'; add one, or write '[[]'."
        )
    return _parse_class(token, pattern)


def _parse_class(token: re.Match[str], pattern: str) -> OneOf:
    ranges = [_parse_range(member, pattern) for member in _MEMBER.finditer(token["members"])]
    if token["negated"]:
        return OneOf(_format_bracket("^", [*ranges, (_SLASH, _SLASH)]))
    ranges = [part for bounds in ranges for part in _exclude_slash(*bounds)]
    if not ranges:
        raise InvalidGlob(
            f"The class {preview(token[0])} fits nothing: a class never fits '/'. Write '/' alone."
        )
    return OneOf(_format_bracket("", ranges))


def _parse_range(member: re.Match[str], pattern: str) -> tuple[int, int]:
    low, high = ord(member["low"] or member["single"]), ord(member["high"] or member["single"])
    if low > high:
        raise InvalidGlob(
            f"The range {preview(member[0])} in {preview(pattern)} runs backwards; write the lower one first."
        )
    return low, high


def _exclude_slash(low: int, high: int) -> list[tuple[int, int]]:
    if not low <= _SLASH <= high:
        return [(low, high)]
    return [(start, end) for start, end in ((low, _SLASH - 1), (_SLASH + 1, high)) if start <= end]


def _format_bracket(negation: str, ranges: list[tuple[int, int]]) -> str:
    # Escapes by code point are literal in both dialects.
    members = (f"\\U{low:08x}" if low == high else f"\\U{low:08x}-\\U{high:08x}" for low, high in ranges)
    return f"[{negation}{''.join(members)}]"
