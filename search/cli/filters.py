"""The flags by which verbs narrow what they search, one for each filter that fits on a command line."""

from collections.abc import Mapping
from typing import Any, Final

from django.core.management.base import CommandParser

from search.retrieval.query.filters import TrustLevel

_REPEATED: Final = {
    "tag": "documents with this tag",
    "lang": "documents in this language",
    "path-glob": "paths like guides/**/*.md",
    "path-not-glob": "leave out paths like **/test_*.py",
    "code-lang": "code in this programming language",
    "source": "this source, by name or id",
    "version": "this version; without it the default ones",
}
_FILTERS: Final = ("lang", "path_glob", "path_not_glob", "code_lang", "source", "version", "trust_min")


def add_filters(parser: CommandParser) -> None:
    """Add the flags; each but `--trust-min` may be given more than once."""
    for name, meaning in _REPEATED.items():
        parser.add_argument(f"--{name}", action="append", default=[], metavar="X", help=meaning)
    parser.add_argument(
        "--trust-min",
        choices=[level.value for level in TrustLevel],
        help="this trust level or a better one",
    )


def given_filters(options: Mapping[str, Any]) -> dict[str, Any]:
    """Return the filters that the flags ask for, called what the fields of the HTTP API are called."""
    filters = {"tags_any": options["tag"]} | {name: options[name] for name in _FILTERS}
    return {name: value for name, value in filters.items() if value}
