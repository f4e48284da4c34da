"""The kinds of `kebab list KIND`, which apps name in their extensions."""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from kebab import extension
from kebab.people.models import Workspace

Rows = Iterable[Mapping[str, Any]]


@dataclass(frozen=True, slots=True, kw_only=True)
class Listing:
    """One kind that can be listed."""

    kind: str
    #: The columns of the table, in order; JSON output has whole rows.
    columns: tuple[str, ...]
    #: Returns at most the given number of rows of a workspace.
    rows: Callable[[Workspace, int], Rows] = lambda workspace, limit: ()
    #: Whether it lists rows of one workspace; else `all_rows` returns them.
    is_scoped: bool = True
    all_rows: Callable[[int], Rows] = lambda limit: ()


def listings() -> dict[str, Listing]:
    """Return all listings by kind, in alphabetical order."""
    return {each.kind: each for each in sorted(extension.listings(), key=lambda each: each.kind)}
