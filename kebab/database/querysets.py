"""Lookup of rows that a caller names, and the order of names with numbers."""

from typing import TypeVar

from django.db.models import Func, Model, QuerySet, TextField

from kebab.errors import NotFound


class NaturalKey(Func):
    """The name with each number padded to 20 digits."""

    template = (
        "regexp_replace(regexp_replace(%(expressions)s, '\\d+', '00000000000000000000\\&', 'g'),"
        " '\\d*(\\d{20})', '\\1', 'g')"
    )
    output_field = TextField()


_Row = TypeVar("_Row", bound=Model)


def first_or_not_found(rows: "QuerySet[_Row]") -> _Row:
    """Return the first row. Raises NotFound if there is none."""
    row = rows.first()
    if row is None:
        raise NotFound
    return row
