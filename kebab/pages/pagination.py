"""Pagination of lists on pages: rows, and the URL of the next page."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from django.db.models import QuerySet
from django.http import HttpRequest

from kebab.http.api.pagination import KeysetPage
from kebab.pages.page import WorkspacePage

ROWS = 50


@dataclass(frozen=True, slots=True, kw_only=True)
class ListPage:
    """One page of a list, in its order."""

    rows: Sequence[Any]
    #: The query string of the next page, with the other parameters; None after the last page.
    next_address: str | None


def list_page(
    view: WorkspacePage, request: HttpRequest, queryset: "QuerySet[Any]", *, ordering: Sequence[str]
) -> ListPage:
    """Return the page of the list at the request's `cursor`. Raises InvalidCursor.

    `ordering` must be total, as for `KeysetPage`. A cursor works for its page, order,
    workspace and user only.
    """
    name = view.list_name or type(view).__qualname__
    salt = f"kebab.page:{name}:{','.join(ordering)}:{view.access.workspace.pk}:{view.access.identity}"
    page = KeysetPage.after_cursor(request.GET.get("cursor"), ordering=ordering, limit=ROWS, salt=salt)
    rows, cursor = page.fetch(queryset)
    return ListPage(rows=rows, next_address=None if cursor is None else _with_cursor(request, cursor))


def _with_cursor(request: HttpRequest, cursor: str) -> str:
    parameters = request.GET.copy()
    parameters["cursor"] = cursor
    return f"?{parameters.urlencode()}"
