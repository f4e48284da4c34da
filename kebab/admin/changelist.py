"""Change lists that open as fast on a million rows as on ten.

Each is ordered by an index. Filters look only at the window: the first rows of that order within the chosen
scope, such as a workspace. So a filter that hardly any row passes reads no more than one that all pass. A
search finds its rows by another index, also beyond the window.
"""

from collections.abc import Iterator, Mapping, Sequence
from functools import cached_property
from typing import Any, ClassVar
from urllib.parse import urlencode

from django.contrib import admin
from django.core.exceptions import ValidationError
from django.core.paginator import Paginator
from django.db import models
from django.db.models.functions import Coalesce
from django.http import HttpRequest
from django.urls import reverse
from unfold.admin import ModelAdmin
from unfold.contrib.filters.admin import AutocompleteSelectFilter
from unfold.views import ChangeList

from kebab.identity.models import Workspace
from kebab.uuids import parse_uuid

#: The number of rows of a list that can be paged through, and that filters look at.
WINDOW = 10_000
#: The most rows found by a search.
FOUND = 1_000
#: The list parameter that selects a workspace.
IN_WORKSPACE = "workspace__id__exact"
WORKSPACE_FILTER = ("workspace", AutocompleteSelectFilter)
# Endings of the parameters of filters by a column.
_LOOKUPS = ("exact", "id__exact", "icontains")


class CappedPaginator(Paginator):  # type: ignore[type-arg]  # the class itself is not generic
    """Pages through the first `WINDOW` rows; a table is never counted to its end."""

    template_name = "operating/pagination.html"
    window = WINDOW

    @cached_property
    def count(self) -> int:
        """Return the number of rows, at most `WINDOW`."""
        return int(self.object_list.order_by()[:WINDOW].count())  # type: ignore[attr-defined]  # a queryset

    @property
    def is_capped(self) -> bool:
        """Return whether there may be more rows than can be paged through."""
        return self.count >= WINDOW


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

    actions = None
    paginator = CappedPaginator
    show_full_result_count = False
    show_facets = admin.ShowFacets.NEVER
    sortable_by: ClassVar[tuple[str, ...]] = ()
    list_per_page = 50
    list_max_show_all = 0
    list_filter_submit = True
    list_fullwidth = True
    #: The column that orders rows by age, newest first; empty where there are never many rows.
    window_by: ClassVar[str] = ""
    #: Figures of the start page: labels and, as list parameters, the rows that each counts.
    figures: ClassVar[Sequence[tuple[Any, Mapping[str, str]]]] = ()
    #: By list parameter, the column that precedes `window_by` in an index.
    scopes: ClassVar[Mapping[str, str]] = {IN_WORKSPACE: "workspace_id"}

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
        filters = self.list_filter
        named = {each.parameter_name for each in filters if not isinstance(each, tuple)}
        return lookup in named | {
            f"{each[0]}__{end}" for each in filters if isinstance(each, tuple) for end in _LOOKUPS
        }

    def get_search_results(
        self, request: HttpRequest, queryset: models.QuerySet[Any], search_term: str
    ) -> tuple[models.QuerySet[Any], bool]:
        """Return the rows of which a search field matches the term: a field with an id one that is an id,
        any other one the rest. An index has to serve each.
        """
        term = search_term.strip().lower()
        if not term:
            return queryset, False
        id_ = parse_uuid(term)
        fields = [each for each in self.search_fields if each.endswith("id") is (id_ is not None)]
        matches = models.Q.create([(each, id_ or term) for each in fields], connector=models.Q.OR)
        found = self.rows_by_key(queryset).filter(matches if fields else models.Q(pk__in=()))
        ids = list(found.order_by().values_list("pk", flat=True)[:FOUND])
        return self.rows_by_key(queryset).filter(pk__in=ids), False

    def rows_by_key(self, rows: models.QuerySet[Any]) -> models.QuerySet[Any]:
        """Return `rows` with the conditions that let the index of the primary key serve."""
        return rows


class ReadOnlyAdmin(ListAdmin):
    """An admin that shows rows, and changes none; no column is shown that it doesn't name."""

    #: The columns that a row's page adds to those of the list.
    details: ClassVar[tuple[str, ...]] = ()

    def get_fields(self, request: HttpRequest, obj: Any = None) -> tuple[str, ...]:
        """Return the fields of a row's page."""
        return (*self.list_display, *self.details)

    def has_add_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        """Return False."""
        return False

    def has_change_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        """Return False, so that all fields are read-only."""
        return False

    def has_delete_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        """Return False."""
        return False


class TenantAdmin(ReadOnlyAdmin):
    """The admin of a table whose keys begin with the workspace: no index begins with the id alone."""

    list_filter: ClassVar[Any] = (WORKSPACE_FILTER,)
    list_select_related: ClassVar[Any] = ("workspace",)

    def get_object(self, request: HttpRequest, object_id: Any, from_field: str | None = None) -> Any:
        """Return the row with this id; None if there is none."""
        try:
            key = self.opts.pk.to_python(object_id)
        except ValidationError:
            return None
        rows = self.get_queryset(request).select_related(*self.list_select_related)
        return self.rows_by_key(rows).filter(pk=key).first()

    def rows_by_key(self, rows: models.QuerySet[Any]) -> models.QuerySet[Any]:
        """Return `rows` of all workspaces, so that they are looked up in each by the index."""
        return rows.filter(workspace__in=Workspace.objects.order_by())
