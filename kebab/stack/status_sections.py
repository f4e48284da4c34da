"""Sections that apps add to `kebab status`, such as the lag of the mirrors."""

from collections.abc import Callable, Mapping, Sequence

Row = Mapping[str, object]

_reports: dict[str, Callable[[], Sequence[Row]]] = {}


def register(name: str, report: Callable[[], Sequence[Row]]) -> None:
    """Register a report in `AppConfig.ready`: it returns rows with the same keys, made of JSON values."""
    _reports[name] = report


def reports() -> dict[str, Callable[[], Sequence[Row]]]:
    """Return the reports by name, in the order of their registration."""
    return dict(_reports)
