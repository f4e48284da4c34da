"""Pagination with a bounded row count."""

from functools import cached_property

from django.core.paginator import Paginator

#: The number of rows of a list that can be paged through, and that filters look at.
WINDOW = 10_000


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
