"""What `kebab list KIND` can list.

An app registers its kinds in its module `listings`, which is imported when somebody lists, as Django's admin
does with `admin` modules.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from django.utils.module_loading import autodiscover_modules

from kebab.people.models import Workspace

Rows = Callable[[Workspace | None, int], Iterable[Mapping[str, Any]]]


@dataclass(frozen=True, slots=True, kw_only=True)
class Listing:
    """One kind of thing that can be listed."""

    kind: str
    #: The keys that people see, in order; programs get whole rows.
    columns: tuple[str, ...]
    #: Gives at most so many rows of a workspace.
    rows: Rows
    #: Whether it lists within one workspace; else `rows` gets None.
    is_scoped: bool


_known: dict[str, Listing] = {}


def register_listing(kind: str, columns: Sequence[str], rows: Rows, *, is_scoped: bool = True) -> None:
    """Let `kebab list` list `kind`: `rows(workspace, limit)` gives mappings that have the `columns`."""
    _known[kind] = Listing(kind=kind, columns=tuple(columns), rows=rows, is_scoped=is_scoped)


def listings() -> dict[str, Listing]:
    """Return all listings by kind, in alphabetical order."""
    autodiscover_modules("listings")
    return dict(sorted(_known.items()))
