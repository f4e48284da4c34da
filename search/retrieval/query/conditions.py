"""Conditions on passages and their documents: one tree of comparisons, which each store evaluates.

Filters and typed operators compile to it. `search.mirror.postings.predicate` evaluates it in a mirror,
`search.access.predicate` in PostgreSQL.
"""

import operator
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Any, Final, Literal

#: What is compared. `words` are the index terms of a passage; the name of a field of metadata follows
#: `metadata.`; `sources` are resolved ones, `source` is the key of one.
Field = str
#: `one_of`: is one of the values; `fits`: fits one of the globs; `has_words`: has the words of one of the
#: keys, or match units, in a row; `within`: a number within all of the bounds; `exists`: has any value; texts
#: are compared with any of the values, times by bounds with the only one.
Bound = Literal["gt", "gte", "lt", "lte"]
TextTest = Literal["equals", "starts", "ends", "contains", "present"]
Test = Literal["one_of", "fits", "has_words", "within", "exists"] | Bound | TextTest
#: The sign of each bound.
BOUNDS: Final[Mapping[str, str]] = {"gt": ">", "gte": ">=", "lt": "<", "lte": "<="}
#: The function of a text and a value that compares them.
TEXT_TESTS: Final[Mapping[str, Callable[[str, str], bool]]] = {
    "equals": operator.eq,
    "starts": str.startswith,
    "ends": str.endswith,
    "contains": operator.contains,
    "present": lambda text, _: text != "",
}
#: Precedes the name of a field of metadata.
METADATA_PREFIX = "metadata."


@dataclass(frozen=True, slots=True, kw_only=True)
class Comparison:
    """A comparison of one field; texts in it are folded by `fold_case`, except for versions."""

    field: Field
    test: Test
    values: tuple[Any, ...] = ()

    @property
    def is_on_words(self) -> bool:
        """Return whether it compares words, as the index's analysis or `title_key` splits them."""
        return self.test == "has_words" or self.field == "title"

    @property
    def is_on_chunk(self) -> bool:
        """Return whether it is about a passage, not about its document."""
        return self.field in ("words", "kind", "code_lang")


@dataclass(frozen=True, slots=True)
class AllOf:
    """Conditions that must all be met."""

    parts: "tuple[Condition, ...]"


@dataclass(frozen=True, slots=True)
class AnyOf:
    """Conditions of which one must be met."""

    parts: "tuple[Condition, ...]"


@dataclass(frozen=True, slots=True)
class Not:
    """A condition that must not be met."""

    part: "Condition"


Condition = Comparison | AllOf | AnyOf | Not


@dataclass(frozen=True, slots=True, kw_only=True)
class NamedCondition:
    """A condition with the name of its filter, or its operator as typed."""

    name: str
    condition: Condition

    @property
    def is_exclusion(self) -> bool:
        """Return whether what meets its comparisons is left out."""
        return isinstance(self.condition, Not)

    @property
    def is_on_terms(self) -> bool:
        """Return whether it requires or excludes words of passages, and is no filter."""
        return any(each.field == "words" for each in comparisons(self.condition))


def comparisons(condition: Condition) -> Iterator[Comparison]:
    """Yield the comparisons of a condition, in order."""
    if isinstance(condition, Comparison):
        yield condition
    else:
        for part in (condition.part,) if isinstance(condition, Not) else condition.parts:
            yield from comparisons(part)


def merge(alternatives: Iterable[Comparison]) -> tuple[Comparison, ...]:
    """Return comparisons of which one must be met, with those of one field as one, where values are such."""
    merged: dict[object, Comparison] = {}
    for each in alternatives:
        key = (each.field, each.test) if each.test in ("one_of", "fits", "has_words") else each
        known = merged.get(key)
        merged[key] = each if known is None else replace(known, values=known.values + each.values)
    return tuple(merged.values())


def shape_of(condition: Condition) -> Condition:
    """Return a condition without its values, by which the SQL for it is known."""
    if isinstance(condition, Not):
        return Not(shape_of(condition.part))
    if isinstance(condition, AllOf | AnyOf):
        return type(condition)(tuple(map(shape_of, condition.parts)))
    field = METADATA_PREFIX if condition.field.startswith(METADATA_PREFIX) else condition.field
    return replace(condition, field=field, values=())


def one_of(field: Field, values: Iterable[str]) -> Comparison:
    """Return the condition that a text is one of `values`, whatever their case."""
    return Comparison(field=field, test="one_of", values=tuple(map(fold_case, values)))


def fold_case(text: str) -> str:
    """Return a text in lower case, letter by letter, as PostgreSQL's `lower` does in C.UTF-8."""
    if text.isascii():
        return text.lower()
    # The only letter whose lower case is two characters.
    return "".join(map(str.lower, text.replace("\u0130", "i")))
