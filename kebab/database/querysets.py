"""Lookup of rows that a caller names."""

from typing import TypeVar

from django.db.models import Model, QuerySet

from kebab.errors import NotFound

_Row = TypeVar("_Row", bound=Model)


def first_or_not_found(rows: "QuerySet[_Row]") -> _Row:
    """Return the first row. Raises NotFound if there is none."""
    row = rows.first()
    if row is None:
        raise NotFound
    return row
