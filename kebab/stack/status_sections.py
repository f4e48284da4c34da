"""Sections that apps add to `kebab status`, such as the lag of the mirrors."""

from collections.abc import Callable, Mapping, Sequence

from kebab.extension import contributions

Row = Mapping[str, object]
#: A name, and a function that returns rows with the same keys, made of JSON values.
StatusSection = tuple[str, Callable[[], Sequence[Row]]]


def reports() -> dict[str, Callable[[], Sequence[Row]]]:
    """Return the reports by name, in the order of the apps."""
    return dict(contributions("status_sections"))
