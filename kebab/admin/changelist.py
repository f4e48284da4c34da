"""Change lists that open as fast on a million rows as on ten.

Each is ordered by an index. Filters look only at the window: the first rows of that order within the chosen
scopes, such as a workspace. So a filter that hardly any row passes reads no more than one that all pass. A
search finds its rows by another index, also beyond the window.
"""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, ClassVar
from urllib.parse import urlencode

from django.contrib import admin
from django.contrib.admin.helpers import ACTION_CHECKBOX_NAME
from django.core.exceptions import BadRequest, ValidationError
from django.db import models
from django.db.models.functions import Coalesce
from django.http import HttpRequest
from django.urls import reverse
from unfold.admin import ModelAdmin
from unfold.views import ChangeList

from kebab.admin.pagination import WINDOW, CappedPaginator

#: The most rows found by a search.
FOUND = 1_000


def newest_window(rows: models.QuerySet[Any], column: str) -> models.Q | None:
    """Return a condition for the newest `WINDOW` of `rows` by `column`; None if there are no more rows."""
    edges = rows.select_related(None).order_by(f"-{column}").values_list(column, flat=True)
    edge = next(iter(edges[WINDOW : WINDOW + 1]), None)
    return None if edge is None else models.Q(**{f"{column}__gt": edge})


def _bypass_index(column: Any) -> Any:
    """Return an equivalent ordering that no index can serve."""
    if not isinstance(column, str):
        return column
    name = column.lstrip("-")
    value = Coalesce(name, name)
    return value.desc() if column.startswith("-") else value.asc()


class WindowedList(ChangeList):
    """A change list whose filters look only at its window."""

    #: Whether there are rows beyond the window.
    is_windowed = False

    def get_queryset(self, request: HttpRequest, exclude_parameters: Any = None) -> models.QuerySet[Any]:
        """Return the rows that pass the filters, within the window unless there is a search term."""
        rows = super().get_queryset(request, exclude_parameters)
        column, scopes = self.model_admin.window_by, self.model_admin.scopes.items()
        if not column or self.query:
            return rows
        chosen = {of: self.params[parameter] for parameter, of in scopes if self.params.get(parameter)}
        window = newest_window(self.root_queryset.filter(**chosen), column)
        self.is_windowed = window is not None
        return rows if window is None else rows.filter(window)

    def get_ordering(self, request: HttpRequest, queryset: models.QuerySet[Any]) -> list[Any]:
        """Return the ordering. A search sorts its few hits, instead of walking the index of the ordering."""
        ordering: list[Any] = super().get_ordering(request, queryset)
        return [_bypass_index(column) for column in ordering] if self.query else ordering

    def get_results(self, request: HttpRequest) -> None:
        """Fetch the page; the count of filtered rows is used as the full count, too."""
        super().get_results(request)
        self.full_result_count = self.result_count


class ListAdmin(ModelAdmin):
    """The base class of all model admins."""

    paginator = CappedPaginator
    show_full_result_count = False
    show_facets = admin.ShowFacets.NEVER
    sortable_by: ClassVar[tuple[str, ...]] = ()
    list_per_page = 50
    list_max_show_all = 0
    list_disable_select_all = True
    list_filter_submit = True
    list_fullwidth = True
    #: The column that orders rows by age, newest first; empty where there are never many rows.
    window_by: ClassVar[str] = ""
    #: Figures of the start page: labels and, as list parameters, the rows that each counts.
    figures: ClassVar[Sequence[tuple[Any, Mapping[str, str]]]] = ()
    #: By list parameter, the column that precedes `window_by` in an index.
    scopes: ClassVar[Mapping[str, str]] = {}

    def start_figures(self) -> Iterator[tuple[Any, CappedPaginator, str]]:
        """Yield the labels, rows and lists of `figures`; of a long table only its window is filtered."""
        rows = self.model._default_manager.order_by("pk")
        address = reverse(f"admin:{self.opts.app_label}_{self.opts.model_name}_changelist")
        for label, lookups in self.figures:
            window = newest_window(rows, self.window_by) if lookups else None
            found = rows.filter(window or models.Q(), **lookups)
            yield label, CappedPaginator(found, 1), f"{address}?{urlencode(lookups)}"

    def get_changelist(self, request: HttpRequest, **kwargs: Any) -> type[WindowedList]:
        """Return the class of the change list."""
        return WindowedList

    def lookup_allowed(self, lookup: str, value: Any, request: Any = None) -> bool:
        """Return whether `lookup` is a filter's parameter: hand-written URLs reach no other column."""
        return lookup in self._filter_parameters(request)

    def response_action(self, request: HttpRequest, queryset: models.QuerySet[Any]) -> Any:
        """Run the chosen action on the selected rows. Raises BadRequest for a malformed key."""
        for ticked in request.POST.getlist(ACTION_CHECKBOX_NAME):
            try:
                self.opts.pk.clean(ticked, None)
            except ValidationError as error:
                raise BadRequest(f"{ticked[:40]!r} is no key of a row.") from error
        return super().response_action(request, queryset)

    def get_search_results(
        self, request: HttpRequest, queryset: models.QuerySet[Any], search_term: str
    ) -> tuple[models.QuerySet[Any], bool]:
        """Return the rows of `queryset` found by `find`, at most `FOUND`."""
        if not search_term.strip():
            return queryset, False
        found = self.find(request, search_term.strip()).order_by().values_list("pk", flat=True)[:FOUND]
        return queryset.filter(pk__in=list(found)), False

    def find(self, request: HttpRequest, term: str) -> models.QuerySet[Any]:
        """Return the rows that match the search `term`; an index has to serve it."""
        return self.model._default_manager.none()

    def _filter_parameters(self, request: HttpRequest) -> set[str]:
        parameters = set()
        for each in self.get_list_filter(request):
            if isinstance(each, tuple):
                parameters |= {f"{each[0]}__exact", f"{each[0]}__id__exact"}
            else:
                parameters.add(each.parameter_name)
        return parameters


class ReadOnlyAdmin(ListAdmin):
    """An admin without forms: these rows change only through the domain's functions."""

    def has_add_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        """Return False."""
        return False

    def has_change_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        """Return False."""
        return False

    def has_delete_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        """Return False."""
        return False
