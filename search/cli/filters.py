"""Command-line flags for search filters, one for each filter that suits a command line."""

from collections.abc import Mapping
from typing import Any, Final

from django.core.management.base import CommandParser

from search.retrieval.query.filters import TrustLevel
from search.retrieval.query.operator_values import start_of_date

_REPEATED: Final = {
    "tag": "documents with this tag",
    "lang": "documents in this language",
    "path-glob": "paths like guides/**/*.md",
    "path-not-glob": "leave out paths like **/test_*.py",
    "code-lang": "code in this programming language",
    "source": "this source, by name or id",
    "version": "this version; without it the default ones",
    "author": "documents by this author",
}
_FILTERS: Final = (
    "lang",
    "path_glob",
    "path_not_glob",
    "code_lang",
    "source",
    "version",
    "author",
    "trust_min",
)
_DATES: Final = {
    "after": "documents with this date or a later one: 2026, 2026-03, 2026-03-05 or a time with its zone",
    "before": "documents with an earlier date",
}


def add_filters(parser: CommandParser) -> None:
    """Add the flags; each except `--trust-min`, `--after` and `--before` may be repeated."""
    for name, meaning in _REPEATED.items():
        parser.add_argument(f"--{name}", action="append", default=[], metavar="X", help=meaning)
    for name, meaning in _DATES.items():
        parser.add_argument(f"--{name}", metavar="DATE", help=meaning)
    parser.add_argument(
        "--trust-min",
        choices=[level.value for level in TrustLevel],
        help="this trust level or a better one",
    )


def filters_from_options(options: Mapping[str, Any]) -> dict[str, Any]:
    """Return the filters of the flags, by the field names of the HTTP API."""
    filters = {"tags_any": options["tag"]} | {name: options[name] for name in _FILTERS}
    filters |= {f"dated_{name}": _start_of(options[name]) for name in _DATES}
    return {name: value for name, value in filters.items() if value}


def _start_of(text: str | None) -> str | None:
    start = start_of_date(text or "")
    return text if start is None else start.isoformat()
