"""Ranking of passages by how they contain a name: in a heading, in its definition in code, or in passing."""

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from enum import IntEnum
from functools import cached_property
from itertools import islice

from search.retrieval.code.declarations import is_declared, is_defined, is_entry
from search.retrieval.text.unicode_scripts import is_unspaced

SEPARATOR = " > "
#: Between the headings of small sections that are one chunk.
NAME_SEPARATOR = " · "

_CALL = "()"
# What follows a word in prose.
_PLURALS = ("(s)", "(es)")
# Between the container of a name and its last part.
_MEMBER = re.compile(r"(?:::|->|[.#])(?=[^\W\d])")
_BETWEEN_NAMES = re.compile(r"\s*[,;|]\s*|\s+(?:and|or|vs\.?|/)\s+")
_PATH = re.compile(r"\S*[/.]\S*")
# The kind of a code unit, before its name in a breadcrumb: `method run`.
_UNIT_KIND = re.compile(r"\w+ (?=\S)")
_QUOTES = "`'\" "
_CALL_AFTER = re.compile(r"(?:\(.*\))?[`'\"]*")
_CONTAINER_BEFORE = re.compile(r"(?:\S*(?:::|->|[.#/]))?[`'\"]*")

# A name that fills a chunk would have its long line classified again for each occurrence.
_MAX_OCCURRENCES = 20

# The part of Okapi bm25 that counts a term in a text: k1 1.2, b 0.75; 600 bytes for the mean length.
_K1, _B, _MEAN_BYTES = 1.2, 0.75, 600


class MatchKind(IntEnum):
    """The way a passage contains a name, the best first."""

    #: The last heading is the name.
    HEADING = 0
    #: The last heading lists it among others, or has it after its container: `ActionClient.orThrow()`.
    LISTED = 1
    #: The last heading begins with it: `/arch (ARM64)`.
    BEGINS = 2
    #: It is somewhere in the last heading: `Compiler Error C2065`.
    NAMED = 3
    #: Code declares it with a keyword: `def name`, `#define name`.
    DECLARED = 4
    #: Code defines it without a keyword: `name = value`, `name: value`, `int name(int other);`.
    DEFINED = 5
    #: A higher heading, the title or the file name is the name.
    ABOVE = 6
    #: It is somewhere in a higher heading or the title.
    NAMED_ABOVE = 7
    #: A line begins with it, as in a list or table of options.
    ENTRY = 8
    MENTIONED = 9
    NOWHERE = 10


# Matches that prove a word to be a name; headings capitalise ordinary words, too.
_NAMESAKES = frozenset({MatchKind.HEADING, MatchKind.LISTED, MatchKind.BEGINS, MatchKind.DECLARED})
_CAPITALISED_NAMESAKES = frozenset({MatchKind.DECLARED})


@dataclass(slots=True, kw_only=True)
class IndexedPassage:
    """A chunk as it is indexed."""

    chunk_id: str
    breadcrumb: str
    text: str
    #: Those of the searched names whose container another chunk of the document declares.
    below: frozenset[str] = frozenset()
    #: Whether it is from a source file; its breadcrumb is then the file's path and the enclosing code units.
    is_code: bool = False
    #: Whether it is in the language of most documents, which comes first among translations.
    in_main_language: bool = True


def rank_passages(
    sought: Sequence["NameQuery"], passages: Iterable[IndexedPassage]
) -> list[tuple[str, float]]:
    """Return the chunks that have any of the names, each with its strength in (0, 1].

    Order: strength descending, chunk id ascending. Strength is the mean over the names. For each, it depends
    first on the kind of match, exact case before any other case; then on the language; then on the frequency
    of the name relative to the length of the text.
    """
    return _sort_by_strength(
        (each.chunk_id, sum([one.strength(each) for one in sought]) / len(sought)) for each in passages
    )


def rank_namesakes(word: str, passages: Iterable[IndexedPassage]) -> list[tuple[str, float]]:
    """Return the chunks in which `word` is a name: their heading is or lists it, or code declares it.

    Return none unless a passage writes it as code: `apple` may be a heading and no name. A capitalised word
    counts only where code declares it. Order and strength are those of `rank_passages`.
    """
    name = _Name(word)
    kinds = _CAPITALISED_NAMESAKES if word.istitle() else _NAMESAKES
    matched = [(each, name.match_kind(each)) for each in passages]
    found = [(each, kind) for each, kind in matched if kind in kinds]
    if not found or not (
        any(kind == MatchKind.DECLARED for _, kind in found)
        or any(name.is_code_in(each.breadcrumb) or name.is_code_in(each.text) for each, _ in matched)
    ):
        return []
    return _sort_by_strength((each.chunk_id, _strength(kind, name.share(each))) for each, kind in found)


def has_definition(sought: "NameQuery", passages: Iterable[IndexedPassage]) -> bool:
    """Return whether a heading of any of `passages` contains the name, or its code defines it."""
    return any(sought.match_kind(each) <= MatchKind.DEFINED for each in passages)


def has_name(sought: "NameQuery", passages: Iterable[IndexedPassage]) -> bool:
    """Return whether any of `passages` contains the name in its exact case."""
    return any(sought.match_kind(each) < MatchKind.NOWHERE for each in passages)


def _sort_by_strength(strengths: Iterable[tuple[str, float]]) -> list[tuple[str, float]]:
    return sorted(((id_, found) for id_, found in strengths if found), key=lambda one: (-one[1], one[0]))


def _strength(step: int, share: float) -> float:
    """Return the strength of the match `step` steps below the best; `share` never outweighs a step."""
    return 1.0 - (step + 1.0 - share) / (2 * MatchKind.NOWHERE)


def split_member(name: str) -> tuple[str, str] | None:
    """Return container and member of a name: `vector` and `push_back` of `std::vector::push_back`."""
    parts = [part for part in _MEMBER.split(name) if part]
    return (parts[-2], parts[-1]) if len(parts) > 1 else None


class NameQuery:
    """A searched name in its exact case, in any case, and as a member of its container.

    It keeps what it has found out about passages.
    """

    def __init__(self, name: str) -> None:
        self._asked = name
        self._name = _Name(name)
        below = split_member(name)
        self._container = None if below is None else _Name(below[0])
        self._member = None if below is None else _Name(below[1])
        #: By chunk id, and whether the document declares the container.
        self._kinds: dict[tuple[str, bool], MatchKind] = {}

    @cached_property
    def _any_case(self) -> "_Name":
        return _Name(self._asked, re.IGNORECASE)

    def match_kind(self, passage: IndexedPassage) -> MatchKind:
        """Return how the passage has the name, in its exact case."""
        key = passage.chunk_id, self._asked in passage.below
        known = self._kinds.get(key)
        if known is None:
            found = self._name.match_kind(passage), self._match_as_member(passage)
            known = self._kinds[key] = min(found)
        return known

    def strength(self, passage: IndexedPassage) -> float:
        """Return how strongly the passage is about the name, in (0, 1]; 0 if it doesn't have it."""
        kind = self.match_kind(passage)
        if kind < MatchKind.NOWHERE:
            return _strength(kind, self._name.share(passage))
        kind = self._any_case.match_kind(passage)
        # In another case only definitions count: a mention may be a different word.
        if kind > MatchKind.ABOVE:
            return 0.0
        return _strength(MatchKind.NOWHERE + kind, self._any_case.share(passage))

    def _match_as_member(self, passage: IndexedPassage) -> MatchKind:
        if self._member is None or self._container is None:
            return MatchKind.NOWHERE
        if self._asked not in passage.below and not self._container.is_in(passage.breadcrumb):
            return MatchKind.NOWHERE
        kind = self._member.match_kind(passage)
        return kind if kind <= MatchKind.DEFINED else MatchKind.NOWHERE


class _Name:
    """One spelling of a name, matched as a whole word."""

    def __init__(self, name: str, flags: int = 0) -> None:
        bare = name.removesuffix(_CALL)
        self._bare = re.compile(_whole_name_pattern(bare), flags)
        # `render()` matches `render` before a parenthesis, and a heading that is just `render`.
        self._pattern = (
            self._bare if bare == name else re.compile(rf"{_whole_name_pattern(bare)}(?=[ \t]?\()", flags)
        )
        # What any text with the name has: looking for it first is ten times as fast as the pattern.
        literal = max(bare.split(), key=len)
        self._literal, self._ignores_case = (literal.lower(), True) if flags else (literal, False)
        # Cached, as the passages of a document share most of their headings.
        self._headings: dict[str, MatchKind] = {}
        #: By a breadcrumb without its last heading.
        self._above: dict[str, MatchKind] = {}

    def is_in(self, text: str) -> bool:
        return self._pattern.search(text) is not None

    def is_code_in(self, text: str) -> bool:
        """Return whether `text` has the name between backticks or before a parenthesis; not as `name(s)`."""
        return self._may_be_in(text) and any(
            text[found.start() - 1 : found.end() + 1] == f"`{found.group()}`"
            or (text.startswith("(", found.end()) and not text.startswith(_PLURALS, found.end()))
            for found in self._bare.finditer(text)
        )

    def share(self, passage: IndexedPassage) -> float:
        """Return the relative frequency of the name in [0, 1); it is at least 0.5 in the main language."""
        count = len(self._pattern.findall(passage.text))
        in_text = count / (count + _K1 * (1 - _B + _B * len(passage.text.encode()) / _MEAN_BYTES))
        return (passage.in_main_language + in_text) / 2

    def match_kind(self, passage: IndexedPassage) -> MatchKind:
        above, _, heading = passage.breadcrumb.rpartition(SEPARATOR)
        if passage.is_code or (not above and _PATH.fullmatch(heading)):
            return self._match_in_code(passage)
        in_heading = min(map(self._match_in_heading, heading.split(NAME_SEPARATOR)))
        if in_heading < MatchKind.NOWHERE:
            return in_heading
        in_text = self._match_in_text(passage.text)
        if in_text <= MatchKind.ABOVE or not above:
            return in_text
        known = self._above.get(above)
        if known is None:
            known = self._above[above] = self._match_above(above.split(SEPARATOR))
        return min(known, in_text)

    def _match_in_code(self, passage: IndexedPassage) -> MatchKind:
        """Return the match in code, whose breadcrumb names the code and documents nothing."""
        path, *units = passage.breadcrumb.split(SEPARATOR)
        if self._match_in_heading(path) == MatchKind.HEADING:
            return MatchKind.HEADING
        names = [_UNIT_KIND.sub("", unit, count=1) for unit in units]
        in_text = self._match_in_text(passage.text)
        if names and in_text < MatchKind.NOWHERE and self._is_listed(names[-1]):
            return MatchKind.DECLARED
        *folders, file = path.split("/")
        above = (*folders, file, file.partition(".")[0], *names)
        return min(MatchKind.ABOVE, in_text) if any(map(self._is_listed, above)) else in_text

    def _match_above(self, headings: Iterable[str]) -> MatchKind:
        best = min(map(self._match_in_heading, headings))
        if best > MatchKind.NAMED:
            return MatchKind.NOWHERE
        return MatchKind.NAMED_ABOVE if best == MatchKind.NAMED else MatchKind.ABOVE

    def _is_listed(self, heading: str) -> bool:
        return self._match_in_heading(heading) < MatchKind.NAMED

    def _match_in_heading(self, heading: str) -> MatchKind:
        known = self._headings.get(heading)
        if known is None:
            known = self._headings[heading] = self._classify_heading(heading)
        return known

    def _may_be_in(self, text: str) -> bool:
        # Characters whose lower case has another length are left to the pattern.
        return self._literal in (text.lower() if self._ignores_case else text) or not text.isascii()

    def _classify_heading(self, heading: str) -> MatchKind:
        if not self._may_be_in(heading) or self._bare.search(heading) is None:
            return MatchKind.NOWHERE
        if self._is_whole(heading, self._pattern):
            return self._at_start(heading, MatchKind.HEADING, MatchKind.LISTED)
        if any(self._is_whole(item, self._bare) for item in (heading, *_BETWEEN_NAMES.split(heading))):
            return MatchKind.LISTED
        return self._at_start(heading, MatchKind.BEGINS, MatchKind.NAMED)

    def _at_start(self, heading: str, there: MatchKind, elsewhere: MatchKind) -> MatchKind:
        found = self._pattern.search(heading)
        if found is None:
            return MatchKind.NOWHERE
        return elsewhere if heading[: found.start()].strip(_QUOTES) else there

    def _is_whole(self, heading: str, pattern: re.Pattern[str]) -> bool:
        """Return whether `heading` is the name, possibly as a call or after its container."""
        return any(
            _CONTAINER_BEFORE.fullmatch(heading, 0, found.start())
            and _CALL_AFTER.fullmatch(heading, found.end())
            for found in pattern.finditer(heading)
        )

    def _match_in_text(self, text: str) -> MatchKind:
        if not self._may_be_in(text):
            return MatchKind.NOWHERE
        best = MatchKind.NOWHERE
        for found in islice(self._pattern.finditer(text), _MAX_OCCURRENCES):
            best = min(best, _classify_line(text, *found.span()))
            if best == MatchKind.DECLARED:
                break
        return best


def _classify_line(text: str, start: int, end: int) -> MatchKind:
    line_start, line_end = text.rfind("\n", 0, start) + 1, text.find("\n", end)
    before, after = text[line_start:start], text[end : len(text) if line_end < 0 else line_end]
    if is_declared(before):
        return MatchKind.DECLARED
    if is_defined(before, after):
        return MatchKind.DEFINED
    return MatchKind.ENTRY if is_entry(before) else MatchKind.MENTIONED


def _whole_name_pattern(name: str) -> str:
    """Return a pattern of `name` as a whole word: no letter, digit or `_` adjoins either end.

    White space in it matches any white space. A name with a hyphen has no adjoining hyphen either.
    """
    hyphen = "|-" if "-" in name else ""
    letters = r"\s+".join(map(re.escape, name.split()))
    return (
        f"(?<!{_continuation_pattern(name[0])}{hyphen}){letters}(?!{_continuation_pattern(name[-1])}{hyphen})"
    )


def _continuation_pattern(edge: str) -> str:
    """Return the pattern of characters that may not be next to `edge`, the first or last of a name.

    Any character may be next to an unspaced script's, and an unspaced script's next to ASCII.
    """
    if is_unspaced(edge):
        return r"[^\s\S]"
    return r"(?a:\w)" if edge.isascii() else r"\w"
