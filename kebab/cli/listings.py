"""The registry of `kebab list KIND`.

An app registers its kinds in its module `listings`, which is imported on the first use, like `admin` modules
by Django's admin.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from django.utils.module_loading import autodiscover_modules

from kebab.people.models import Workspace

Rows = Callable[[Workspace | None, int], Iterable[Mapping[str, Any]]]


@dataclass(frozen=True, slots=True, kw_only=True)
class Listing:
    """One kind that can be listed."""

    kind: str
    #: The columns of the table, in order; JSON output has whole rows.
    columns: tuple[str, ...]
    #: Returns at most the given number of rows of a workspace.
    rows: Rows
    #: Whether it lists rows of one workspace; else `rows` gets None.
    is_scoped: bool


_registered: dict[str, Listing] = {}


def register_listing(kind: str, columns: Sequence[str], rows: Rows, *, is_scoped: bool = True) -> None:
    """Register `kind` for `kebab list`: `rows(workspace, limit)` returns mappings with the `columns`."""
    _registered[kind] = Listing(kind=kind, columns=tuple(columns), rows=rows, is_scoped=is_scoped)


def listings() -> dict[str, Listing]:
    """Return all listings by kind, in alphabetical order."""
    autodiscover_modules("listings")
    return dict(sorted(_registered.items()))
