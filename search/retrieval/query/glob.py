"""Path patterns: `*`, `?` and `[…]` within one name, `**/` over any number of directories, none included.

A pattern is anchored at both ends and case-sensitive; filters fold both it and the paths. `**` means
directories only as a whole name (`a/**/b`, `a/**`); elsewhere it is `*`. There are no braces and no escapes:
both are ordinary characters.

Matching takes time linear in the path for each piece of the pattern. In one name, every piece after a `*`
but the last may be matched at its first position, and so may every run of names after a `**/`: a later
position never helps, as another star follows. Atomic groups tell the engine so, as in
`fnmatch.translate`.
"""

import re
import unicodedata
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import pairwise

from search.retrieval.errors import InvalidGlob, preview
from search.retrieval.query.conditions import Comparison


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


MAX_PATTERN_CHARS = 512


@dataclass(frozen=True, slots=True, kw_only=True)
class Glob:
    """A compiled pattern."""

    #: An equivalent for PostgreSQL's `~`: anchored, without look-around and back-references.
    sql_regex: str
    _regex: re.Pattern[str]

    def matches(self, path: str) -> bool:
        """Return whether the whole of `path` fits the pattern."""
        return self._regex.fullmatch(path) is not None


def compile_glob(pattern: str) -> Glob:
    """Compile `pattern`. Raises: InvalidGlob, with the position, if it is empty, too long or malformed."""
    if not pattern or len(pattern) > MAX_PATTERN_CHARS:
        raise InvalidGlob(
            f"A path pattern has 1 to {MAX_PATTERN_CHARS} characters, this one {len(pattern)}; shorten it."
        )
    pattern = unicodedata.normalize("NFC", pattern)
    names = parse_names(pattern)
    return Glob(
        sql_regex=f"^{_render(names, _POSTGRES)}$",
        _regex=re.compile(_render(names, _PYTHON), re.DOTALL),
    )


def compile_part(part: str) -> Glob:
    """Compile the pattern of all paths that have `part` anywhere."""
    escaped = _render_part(Literal(unicodedata.normalize("NFC", part)))
    return Glob(
        sql_regex=escaped,
        _regex=re.compile(f".*{escaped}.*", re.DOTALL),
    )


def path_fits(*globs: Glob) -> Comparison:
    """Return the condition that a path fits one of the patterns; they are folded by `fold_case`."""
    return Comparison(field="path", test="fits", values=globs)


@dataclass(frozen=True, slots=True, kw_only=True)
class _Dialect:
    atomic: str
    lazy: str
    possessive: str


_PYTHON = _Dialect(atomic="(?>", lazy="?", possessive="+")
# PostgreSQL matches with an automaton, without backtracking, and needs none of these.
_POSTGRES = _Dialect(atomic="(?:", lazy="", possessive="")

#: A name's parts; None stands for `**`, any number of directories.
_Name = Sequence[Part] | None


def _render(names: Sequence[_Name], dialect: _Dialect) -> str:
    """Return the expression for whole paths: runs of names between `**`, each at its first position."""
    *runs, last_run = _runs_between_stars(names)
    directories = f"(?:[^/]+{dialect.possessive}/)*"
    rendered = ""
    for index, run in enumerate(runs):
        body = "".join(_render_name(name, dialect) + "/" for name in run)
        before = directories + dialect.lazy if index and body else ""
        rendered += f"{dialect.atomic}{before}{body})" if body else ""
    ending = "/".join(_render_name(name, dialect) for name in last_run)
    if not runs:
        return ending
    # A final `**` matches everything below.
    return rendered + (directories + ending if last_run else ".+")


def _runs_between_stars(names: Sequence[_Name]) -> list[list[Sequence[Part]]]:
    runs: list[list[Sequence[Part]]] = [[]]
    for before, name in pairwise([(), *names]):
        if name is not None:
            runs[-1].append(name)
        elif before is not None:
            runs.append([])
    return runs


def _render_name(name: Sequence[Part], dialect: _Dialect) -> str:
    pieces = _pieces_between_stars(name)
    if len(pieces) == 1:
        return _render_piece(pieces[0])
    first, *middle, last = (_render_piece(piece) for piece in pieces)
    found_first = "".join(f"{dialect.atomic}[^/]*{dialect.lazy}{piece})" for piece in middle if piece)
    return f"{dialect.atomic}{first}{found_first}[^/]*{last})"


def _pieces_between_stars(name: Sequence[Part]) -> list[list[Part]]:
    pieces: list[list[Part]] = [[]]
    for part in name:
        if isinstance(part, AnyRun):
            pieces.append([])
        else:
            pieces[-1].append(part)
    return pieces


def _render_piece(piece: Iterable[Part]) -> str:
    return "".join(_render_part(part) for part in piece)


def _render_part(part: Part) -> str:
    if isinstance(part, Literal):
        return "".join(_escape(character) for character in part.text)
    if isinstance(part, OneOf):
        return part.bracket
    return "[^/]"


def _escape(character: str) -> str:
    return f"\\{character}" if character in ".^$*+?()[]{}|\\" else character
