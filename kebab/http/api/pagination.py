"""Keyset pagination of lists: rows added or deleted between pages never repeat or skip another row."""

import uuid
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import datetime
from operator import attrgetter
from typing import Any

from django.core import signing
from django.db.models import Model, Q, QuerySet
from rest_framework import serializers
from rest_framework.response import Response

from kebab.errors import InvalidCursor
from kebab.http.api.serializers import StrictSerializer
from kebab.http.api.views import ApiView

DEFAULT_LIMIT = 50
MAX_LIMIT = 200


class PageQuery(StrictSerializer):
    """The query parameters of every list; a list with filters extends it."""

    limit = serializers.IntegerField(min_value=1, max_value=MAX_LIMIT, default=DEFAULT_LIMIT)
    cursor = serializers.CharField(
        required=False, max_length=4_000, help_text="`next_cursor` of the page before"
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class KeysetPage:
    """One page of a list in a total order."""

    #: Field names, `-` for descending; the last one is unique, none is null.
    ordering: tuple[str, ...]
    limit: int
    #: The ordering's values in the last row of the previous page.
    after: tuple[Any, ...] | None
    #: Cursors are signed for this list of this workspace and this caller.
    salt: str

    @classmethod
    def from_view(cls, view: ApiView, *, ordering: Sequence[str]) -> "KeysetPage":
        """Return the page requested by a view's `PageQuery`. Raises InvalidCursor."""
        salt = _cursor_salt(view, ordering)
        return cls.after_cursor(
            view.query.get("cursor"), ordering=ordering, limit=view.query["limit"], salt=salt
        )

    @classmethod
    def after_cursor(
        cls, cursor: str | None, *, ordering: Sequence[str], limit: int, salt: str
    ) -> "KeysetPage":
        """Return the page after a cursor signed with `salt`; None: the first page. Raises InvalidCursor."""
        after = None if cursor is None else _unsign_cursor(cursor, salt)
        return cls(ordering=tuple(ordering), limit=limit, after=after, salt=salt)

    def fetch(self, queryset: QuerySet[Any]) -> tuple[list[Any], str | None]:
        """Return the page's rows and the cursor of the next page; None after the last."""
        if self.after is not None:
            queryset = queryset.filter(_rows_after(self.ordering, self.after))
        rows = list(queryset.order_by(*self.ordering)[: self.limit + 1])
        if len(rows) <= self.limit:
            return rows, None
        rows = rows[: self.limit]
        return rows, signing.dumps(self._ordering_values(rows[-1]), salt=self.salt)

    def response(self, queryset: QuerySet[Any], serialise: Callable[[Any], Any]) -> Response:
        """Return the response with the page, each row as `serialise(row)`."""
        rows, next_cursor = self.fetch(queryset)
        return Response({"results": [serialise(row) for row in rows], "next_cursor": next_cursor})

    def _ordering_values(self, row: Model) -> list[Any]:
        return [
            _to_json_value(attrgetter(name.lstrip("-").replace("__", "."))(row)) for name in self.ordering
        ]


def _cursor_salt(view: ApiView, ordering: Sequence[str]) -> str:
    workspace = getattr(view, "workspace", None)
    below = sorted((name, str(value)) for name, value in view.kwargs.items() if name != "ws")
    place = (type(view).__module__, type(view).__qualname__, below, list(ordering))
    return f"kebab.cursor:{place}:{workspace.pk if workspace else ''}:{view.caller.identity}"


def _unsign_cursor(cursor: str, salt: str) -> tuple[Any, ...]:
    try:
        return tuple(signing.loads(cursor, salt=salt))
    except signing.BadSignature as error:
        raise InvalidCursor from error


def _rows_after(ordering: Sequence[str], after: Sequence[Any]) -> Q:
    """Return the filter for rows after `after`: (a > x) or (a = x and b > y) …

    It begins with a >= x so that an index can be used.
    """
    first, first_value = ordering[0], after[0]
    later = Q()
    equal = Q()
    for name, value in zip(ordering, after, strict=True):
        later |= equal & Q(**{_comparison_lookup(name): value})
        equal &= Q(**{name.lstrip("-"): value})
    return Q(**{f"{_comparison_lookup(first)}e": first_value}) & later


def _comparison_lookup(name: str) -> str:
    return f"{name[1:]}__lt" if name.startswith("-") else f"{name}__gt"


def _to_json_value(value: Any) -> Any:
    if isinstance(value, datetime):
        return value.isoformat()
    return str(value) if isinstance(value, uuid.UUID) else value
