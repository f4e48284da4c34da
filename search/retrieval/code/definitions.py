"""Where a passage says what a name is: in its heading, in code that defines it, or just in passing."""

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from enum import IntEnum
from functools import cached_property
from itertools import islice

from search.retrieval.code.declarations import is_declared, is_defined, is_entry
from search.retrieval.text.unicode_scripts import is_unspaced

SEPARATOR = " > "

_CALL = "()"
# Between the container of a name and its last part.
_MEMBER = re.compile(r"(?:::|->|[.#])(?=[^\W\d])")
_BETWEEN_NAMES = re.compile(r"\s*[,;|]\s*|\s+(?:and|or|vs\.?|/)\s+")
_PATH = re.compile(r"\S*[/.]\S*")
# What a unit of code is, before its name in a breadcrumb: `method run`.
_UNIT_KIND = re.compile(r"\w+ (?=\S)")
_QUOTES = "`'\" "
_CALL_AFTER = re.compile(r"(?:\(.*\))?[`'\"]*")
_CONTAINER_BEFORE = re.compile(r"(?:\S*(?:::|->|[.#/]))?[`'\"]*")

# Of a name that fills a chunk each place in a long line would be looked at again and again.
_LOOKED_AT = 20

# The part of Okapi bm25 that counts a term in a text: k1 1.2, b 0.75; 600 bytes for the mean length.
_K1, _B, _MEAN_BYTES = 1.2, 0.75, 600


class Place(IntEnum):
    """How a passage has a name, the best first."""

    #: The last heading is the name.
    HEADING = 0
    #: The last heading lists it among others, or has it behind its container: `ActionClient.orThrow()`.
    LISTED = 1
    #: The last heading begins with it: `/arch (ARM64)`.
    BEGINS = 2
    #: It is somewhere in the last heading: `Compiler Error C2065`.
    NAMED = 3
    #: Code declares it with a word for that: `def name`, `#define name`.
    DECLARED = 4
    #: Code defines it otherwise: `name = value`, `name: value`, `int name(int other);`.
    DEFINED = 5
    #: A heading further up, the title or the file is it.
    ABOVE = 6
    #: A line begins with it, as in a list or table of options.
    ENTRY = 7
    MENTIONED = 8
    NOWHERE = 9


# Where a word is a name for sure; a capitalised one is written so in any heading.
_NAMESAKES = frozenset({Place.HEADING, Place.LISTED, Place.BEGINS, Place.DECLARED})
_CAPITALISED_NAMESAKES = frozenset({Place.DECLARED})


@dataclass(frozen=True, slots=True, kw_only=True)
class Passage:
    """A chunk as it is indexed."""

    chunk_id: str
    breadcrumb: str
    text: str
    #: Those of the names asked for whose container another chunk of the document declares.
    below: frozenset[str] = frozenset()
    #: Whether it is of a source file: then its breadcrumb is the file's path and the units that it is in.
    is_code: bool = False
    #: Whether it is in the language that most documents are in; of translations that one comes first.
    in_main_language: bool = True


def rank_passages(names: Sequence[str], passages: Iterable[Passage]) -> list[tuple[str, float]]:
    """Return the chunks that have any of `names`, each with its strength in (0, 1].

    Order: strength descending, chunk id ascending. Strength is the mean over the names: by place, those with
    the letters' case as asked before all others; then by language; then by how often the text has the name
    for its length.
    """
    sought = [_Sought(name) for name in names]
    return _ranked(
        (each.chunk_id, sum(one.strength(each) for one in sought) / len(sought)) for each in passages
    )


def rank_namesakes(word: str, passages: Iterable[Passage]) -> list[tuple[str, float]]:
    """Return the chunks that have `word` for a name: their heading is or lists it, or code declares it.

    None unless any of them writes it as code: `apple` may be a heading and no name. A capitalised word is one
    where code declares it alone. Order and strength are those of `rank_passages`.
    """
    name = _Name(word)
    places = _CAPITALISED_NAMESAKES if word.istitle() else _NAMESAKES
    placed = [(each, name.place(each)) for each in passages]
    as_code = re.compile(rf"`{re.escape(word)}`|{_bordered(word)}\((?!e?s\))")
    if not any(
        place == Place.DECLARED or as_code.search(f"{each.breadcrumb}\n{each.text}") for each, place in placed
    ):
        return []
    return _ranked(
        (each.chunk_id, _strength(place, name.share(each))) for each, place in placed if place in places
    )


def has_definition(name: str, passages: Iterable[Passage]) -> bool:
    """Return whether a heading of any of `passages` has the name, or code in it defines it."""
    sought = _Sought(name)
    return any(sought.place(each) <= Place.DEFINED for each in passages)


def has_name(name: str, passages: Iterable[Passage]) -> bool:
    """Return whether any of `passages` has the name as asked, wherever it stands."""
    sought = _Sought(name)
    return any(sought.place(each) < Place.NOWHERE for each in passages)


def _ranked(strengths: Iterable[tuple[str, float]]) -> list[tuple[str, float]]:
    return sorted(((id_, found) for id_, found in strengths if found), key=lambda one: (-one[1], one[0]))


def _strength(step: int, share: float) -> float:
    """Return what a place is worth that is `step` behind the best; `share` never makes up for a step."""
    return 1.0 - (step + 1.0 - share) / (2 * Place.NOWHERE)


def member_of(name: str) -> tuple[str, str] | None:
    """Return container and last part of a name: `vector` and `push_back` of `std::vector::push_back`."""
    parts = [part for part in _MEMBER.split(name) if part]
    return (parts[-2], parts[-1]) if len(parts) > 1 else None


class _Sought:
    """A name as asked, in letters of any case, and as a member of what stands above it."""

    def __init__(self, name: str) -> None:
        self._asked = name
        self._name = _Name(name)
        below = member_of(name)
        self._container = None if below is None else _Name(below[0])
        self._member = None if below is None else _Name(below[1])

    @cached_property
    def _any_case(self) -> "_Name":
        return _Name(self._asked, re.IGNORECASE)

    def place(self, passage: Passage) -> Place:
        return min(self._name.place(passage), self._place_as_member(passage))

    def strength(self, passage: Passage) -> float:
        place = self.place(passage)
        if place < Place.NOWHERE:
            return _strength(place, self._name.share(passage))
        place = self._any_case.place(passage)
        # A name in other letters is found where it is defined; in passing it may be another word.
        if place > Place.ABOVE:
            return 0.0
        return _strength(Place.NOWHERE + place, self._any_case.share(passage))

    def _place_as_member(self, passage: Passage) -> Place:
        if self._member is None or self._container is None:
            return Place.NOWHERE
        if self._asked not in passage.below and not self._container.is_in(passage.breadcrumb):
            return Place.NOWHERE
        place = self._member.place(passage)
        return place if place <= Place.DEFINED else Place.NOWHERE


class _Name:
    """One spelling of a name: where it stands on its own."""

    def __init__(self, name: str, flags: int = 0) -> None:
        bare = name.removesuffix(_CALL)
        self._bare = re.compile(_bordered(bare), flags)
        # `render()` is where `render` is called or takes parameters, and where a heading is just `render`.
        self._pattern = self._bare if bare == name else re.compile(rf"{_bordered(bare)}(?=[ \t]?\()", flags)
        # The passages of a document share most of their headings.
        self._headings: dict[str, Place] = {}

    def is_in(self, text: str) -> bool:
        return self._pattern.search(text) is not None

    def share(self, passage: Passage) -> float:
        """Return how much a passage is about the name, in [0, 1), that of the main language from 0.5 on."""
        count = len(self._pattern.findall(passage.text))
        in_text = count / (count + _K1 * (1 - _B + _B * len(passage.text.encode()) / _MEAN_BYTES))
        return (passage.in_main_language + in_text) / 2

    def place(self, passage: Passage) -> Place:
        *above, heading = passage.breadcrumb.split(SEPARATOR)
        if passage.is_code or (not above and _PATH.fullmatch(heading)):
            return self._place_in_code(passage)
        in_heading = self._place_in_heading(heading)
        if in_heading < Place.NOWHERE:
            return in_heading
        return self._place_below(above, self._place_in_text(passage.text))

    def _place_in_code(self, passage: Passage) -> Place:
        """Return a breadcrumb of code names the code, and documents nothing."""
        path, *units = passage.breadcrumb.split(SEPARATOR)
        if self._place_in_heading(path) == Place.HEADING:
            return Place.HEADING
        names = [_UNIT_KIND.sub("", unit, count=1) for unit in units]
        in_text = self._place_in_text(passage.text)
        if names and in_text < Place.NOWHERE and self._is_listed(names[-1]):
            return Place.DECLARED
        *folders, file = path.split("/")
        return self._place_below([*folders, file, file.partition(".")[0], *names], in_text)

    def _place_below(self, above: Iterable[str], in_text: Place) -> Place:
        if in_text > Place.ABOVE and any(map(self._is_listed, above)):
            return Place.ABOVE
        return in_text

    def _is_listed(self, heading: str) -> bool:
        return self._place_in_heading(heading) < Place.NAMED

    def _place_in_heading(self, heading: str) -> Place:
        known = self._headings.get(heading)
        if known is None:
            known = self._headings[heading] = self._looked_up(heading)
        return known

    def _looked_up(self, heading: str) -> Place:
        if self._bare.search(heading) is None:
            return Place.NOWHERE
        if self._is_whole(heading, self._pattern):
            return self._at_start(heading, Place.HEADING, Place.LISTED)
        if any(self._is_whole(item, self._bare) for item in (heading, *_BETWEEN_NAMES.split(heading))):
            return Place.LISTED
        return self._at_start(heading, Place.BEGINS, Place.NAMED)

    def _at_start(self, heading: str, there: Place, elsewhere: Place) -> Place:
        found = self._pattern.search(heading)
        if found is None:
            return Place.NOWHERE
        return elsewhere if heading[: found.start()].strip(_QUOTES) else there

    def _is_whole(self, heading: str, pattern: re.Pattern[str]) -> bool:
        """Return whether `heading` is the name, as a call perhaps, and perhaps behind its container."""
        return any(
            _CONTAINER_BEFORE.fullmatch(heading, 0, found.start())
            and _CALL_AFTER.fullmatch(heading, found.end())
            for found in pattern.finditer(heading)
        )

    def _place_in_text(self, text: str) -> Place:
        first = islice(self._pattern.finditer(text), _LOOKED_AT)
        return min((_place_in_line(text, *found.span()) for found in first), default=Place.NOWHERE)


def _place_in_line(text: str, start: int, end: int) -> Place:
    line_start, line_end = text.rfind("\n", 0, start) + 1, text.find("\n", end)
    before, after = text[line_start:start], text[end : len(text) if line_end < 0 else line_end]
    if is_declared(before):
        return Place.DECLARED
    if is_defined(before, after):
        return Place.DEFINED
    return Place.ENTRY if is_entry(before) else Place.MENTIONED


def _bordered(name: str) -> str:
    """Return a pattern of `name` on its own: no letter, digit or `_` goes on at either end of it.

    White space in it is any white space. A name with a hyphen doesn't go on with one either.
    """
    hyphen = "|-" if "-" in name else ""
    letters = r"\s+".join(map(re.escape, name.split()))
    return f"(?<!{_going_on(name[0])}{hyphen}){letters}(?!{_going_on(name[-1])}{hyphen})"


def _going_on(edge: str) -> str:
    """Return what may not stand beside `edge`: a script without spaces may stand beside ASCII, and
    goes on.
    """
    if is_unspaced(edge):
        return r"[^\s\S]"
    return r"(?a:\w)" if edge.isascii() else r"\w"
