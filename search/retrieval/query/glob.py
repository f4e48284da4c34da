"""Path patterns: `*`, `?` and `[…]` within one name, `**/` over any number of directories, none included.

A pattern is anchored at both ends and case-sensitive. `**` means directories only as a whole name (`a/**/b`,
`a/**`); elsewhere it is `*`. There are no braces and no escapes: both are ordinary characters.

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

from search.retrieval.errors import InvalidGlob
from search.retrieval.query.glob_parser import AnyRun, Literal, OneOf, Part, parse_names

MAX_PATTERN_CHARS = 512


@dataclass(frozen=True, slots=True, kw_only=True)
class Glob:
    """A compiled pattern."""

    #: As given, in NFC like every document's path.
    pattern: str
    #: The prefix of every matching path; the whole pattern if it has no wildcard.
    literal_prefix: str
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
        pattern=pattern,
        literal_prefix=_literal_prefix(names),
        sql_regex=f"^{_render(names, _POSTGRES)}$",
        _regex=re.compile(_render(names, _PYTHON), re.DOTALL),
    )


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


def _literal_prefix(names: Sequence[_Name]) -> str:
    prefix = ""
    for index, name in enumerate(names):
        prefix += "/" if index else ""
        if name is None:
            return prefix
        for part in name:
            if not isinstance(part, Literal):
                return prefix
            prefix += part.text
    return prefix


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
