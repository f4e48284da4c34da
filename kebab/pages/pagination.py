"""Lists on pages: so many rows, and the address of the next ones."""

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
    """Rows of a list, in its order."""

    rows: Sequence[Any]
    #: The query string of the next ones, what else the address asks for kept; None after the last.
    next_address: str | None


def list_page(
    view: WorkspacePage, request: HttpRequest, queryset: "QuerySet[Any]", *, ordering: Sequence[str]
) -> ListPage:
    """Return the rows that the address asks for, by its `cursor`. Raises InvalidCursor.

    `ordering` is total, as `KeysetPage` wants it. A cursor is good for its page, workspace and person alone.
    """
    name = view.list_name or type(view).__qualname__
    salt = f"kebab.page:{name}:{view.access.workspace.pk}:{view.access.identity}"
    page = KeysetPage.behind(request.GET.get("cursor"), ordering=ordering, limit=ROWS, salt=salt)
    rows, cursor = page.cut(queryset)
    return ListPage(rows=rows, next_address=None if cursor is None else _with_cursor(request, cursor))


def _with_cursor(request: HttpRequest, cursor: str) -> str:
    parameters = request.GET.copy()
    parameters["cursor"] = cursor
    return f"?{parameters.urlencode()}"
