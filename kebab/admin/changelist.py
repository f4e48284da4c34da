"""Lists that open as fast on a million rows as on ten.

Each is ordered by an index. What filters look at is the window: the first rows of that order within the
scopes chosen, a workspace say. So a filter that hardly any row passes reads no more than one that all pass.
A search finds its rows by an index of their own, and looks further than the window.
"""

from collections.abc import Mapping
from typing import Any, ClassVar

from django.contrib import admin
from django.contrib.admin.helpers import ACTION_CHECKBOX_NAME
from django.core.exceptions import BadRequest, ValidationError
from django.db import models
from django.db.models.functions import Coalesce
from django.http import HttpRequest
from unfold.admin import ModelAdmin
from unfold.views import ChangeList

from kebab.admin.pagination import WINDOW, CappedPaginator

#: Rows that a search finds at most.
FOUND = 1_000


def window_of(rows: models.QuerySet[Any], column: str) -> models.Q | None:
    """Return what the newest `WINDOW` of `rows` by `column` have alone; None when there are no others."""
    edges = rows.select_related(None).order_by(f"-{column}").values_list(column, flat=True)
    edge = next(iter(edges[WINDOW : WINDOW + 1]), None)
    return None if edge is None else models.Q(**{f"{column}__gt": edge})


def _unindexed(column: Any) -> Any:
    """Return an order like that of a column, by its name, which no index has."""
    if not isinstance(column, str):
        return column
    name = column.lstrip("-")
    value = Coalesce(name, name)
    return value.desc() if column.startswith("-") else value.asc()


class WindowedList(ChangeList):  # type: ignore[misc]
    """A list whose filters look at its window alone."""

    #: Whether there are rows that its filters haven't looked at.
    is_windowed = False

    def get_queryset(self, request: HttpRequest, exclude_parameters: Any = None) -> models.QuerySet[Any]:
        """Return the rows that pass the filters, within the window unless something was searched for."""
        rows = super().get_queryset(request, exclude_parameters)
        column, scopes = self.model_admin.window_by, self.model_admin.scopes.items()
        if not column or self.query:
            return rows  # type: ignore[no-any-return]
        chosen = {of: self.params[parameter] for parameter, of in scopes if self.params.get(parameter)}
        window = window_of(self.root_queryset.filter(**chosen), column)
        self.is_windowed = window is not None
        return rows if window is None else rows.filter(window)  # type: ignore[no-any-return]

    def get_ordering(self, request: HttpRequest, queryset: models.QuerySet[Any]) -> list[Any]:
        """Return the order. What was searched for is sorted: an index of the order would be walked for it."""
        ordering: list[Any] = super().get_ordering(request, queryset)
        return [_unindexed(column) for column in ordering] if self.query else ordering

    def get_results(self, request: HttpRequest) -> None:
        """Take the rows of the page; the count of those that pass the filters stands for that of all."""
        super().get_results(request)
        self.full_result_count = self.result_count


class ListAdmin(ModelAdmin):  # type: ignore[misc]
    """The base of all models' admins."""

    paginator = CappedPaginator
    show_full_result_count = False
    show_facets = admin.ShowFacets.NEVER
    sortable_by: ClassVar[tuple[str, ...]] = ()
    list_per_page = 50
    list_max_show_all = 0
    list_disable_select_all = True
    list_filter_submit = True
    list_fullwidth = True
    #: The column by which rows become older, newest first; empty where there are never many rows.
    window_by: ClassVar[str] = ""
    #: By parameter of the list, the column that an index has before `window_by`.
    scopes: ClassVar[Mapping[str, str]] = {}

    def get_changelist(self, request: HttpRequest, **kwargs: Any) -> type[WindowedList]:
        """Return the class of the list."""
        return WindowedList

    def lookup_allowed(self, lookup: str, value: Any, request: Any = None) -> bool:
        """Return whether it is a parameter of a filter: an address made by hand reaches no other column."""
        return lookup in self._filter_parameters(request)

    def response_action(self, request: HttpRequest, queryset: models.QuerySet[Any]) -> Any:
        """Do what was chosen to the rows ticked. Raises BadRequest for a row that there can't be."""
        for ticked in request.POST.getlist(ACTION_CHECKBOX_NAME):
            try:
                self.opts.pk.clean(ticked, None)
            except ValidationError as error:
                raise BadRequest(f"{ticked[:40]!r} is no key of a row.") from error
        return super().response_action(request, queryset)

    def get_search_results(
        self, request: HttpRequest, queryset: models.QuerySet[Any], search_term: str
    ) -> tuple[models.QuerySet[Any], bool]:
        """Return those of `queryset` that `find` finds, `FOUND` at most."""
        if not search_term.strip():
            return queryset, False
        found = self.find(request, search_term.strip()).order_by().values_list("pk", flat=True)[:FOUND]
        return queryset.filter(pk__in=list(found)), False

    def find(self, request: HttpRequest, term: str) -> models.QuerySet[Any]:
        """Return the rows that somebody who typed `term` means; an index has to serve it."""
        return self.model._default_manager.none()  # type: ignore[no-any-return]

    def _filter_parameters(self, request: HttpRequest) -> set[str]:
        parameters = set()
        for each in self.get_list_filter(request):
            if isinstance(each, tuple):
                parameters |= {f"{each[0]}__exact", f"{each[0]}__id__exact"}
            else:
                parameters.add(each.parameter_name)
        return parameters


class ReadOnly(ListAdmin):
    """Shown, never changed by a form: these rows have rules of their own."""

    def has_add_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        """Return False."""
        return False

    def has_change_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        """Return False."""
        return False

    def has_delete_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        """Return False."""
        return False
