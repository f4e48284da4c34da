"""Arguments that commands share: the workspace, JSON, the filters of the API."""

import argparse
import re
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from types import ModuleType
from typing import Any, Final, NoReturn, TextIO

from kebab.cli.client.connection import ApiProblem, Connection
from kebab.cli.errors import CliError, Exit, write_error

_MOST_CHOICES = 20
_DATE = re.compile(r"([0-9]{4})(?:-([0-9]{2}))?(?:-([0-9]{2}))?")
# Options that may be repeated: the field of the API, and what they let through.
_REPEATED: Final[Mapping[str, tuple[str, str]]] = {
    "source": ("source", "this source, by key or id"),
    "tag": ("tags_any", "documents with this tag"),
    "media": ("media", "files of this type: text, code, pdf, office, email, image, transcript"),
    "lang": ("lang", "documents in this language: en, de, fr"),
    "author": ("author", "documents by this author"),
    "path-glob": ("path_glob", "paths like guides/**/*.md"),
    "path-not-glob": ("path_not_glob", "leave out paths like **/test_*.py"),
    "version": ("version", "this version; without it the default ones"),
    "kind": ("kind", "passages that are code, or info"),
    "code-lang": ("code_lang", "code in this programming language"),
    "document": ("doc_id", "this document, by id"),
}
_DATES: Final[Mapping[str, tuple[str, str]]] = {
    "after": ("dated_after", "documents with this date or a later one: 2026, 2026-03, 2026-03-05"),
    "before": ("dated_before", "documents with an earlier date"),
    "ingested-after": ("ingested_after", "documents ingested at this time or later"),
}
_TRUST: Final = ("primary", "secondary", "generated", "unknown")


class Parser(argparse.ArgumentParser):
    """A parser that reports a wrong argument as `error.v1` with `--json`, and exits with 2."""

    #: The arguments, which say whether JSON is wanted before they are parsed.
    arguments: Sequence[str] = ()
    err: TextIO

    def error(self, message: str) -> NoReturn:
        """Report the error and exit."""
        as_json = "--json" in self.arguments
        if not as_json:
            self.print_usage(self.err)
        write_error("invalid_arguments", message, self.err, as_json=as_json)
        self.exit(Exit.ERROR)


def make_parser(name: str, about: str, module: ModuleType, arguments: Sequence[str], err: TextIO) -> Parser:
    """Return the parser of a command, whose module adds its arguments and names examples."""
    examples = "".join(f"\n  {each}" for each in module.EXAMPLES)
    parser = Parser(
        prog=f"kebab {name}",
        description=f"{about[0].upper()}{about[1:]}.",
        epilog=f"examples:{examples}",
        formatter_class=argparse.RawDescriptionHelpFormatter,
        allow_abbrev=False,
    )
    parser.arguments, parser.err = arguments, err
    text = "print JSON on stdout, and errors as error.v1 on stderr"
    parser.add_argument("--json", dest="as_json", action="store_true", help=text)
    module.add_arguments(parser)
    return parser


def add_workspace(parser: argparse.ArgumentParser) -> None:
    """Add `--workspace`; `find_workspace` finds it."""
    text = "slug or id (KEBAB_WORKSPACE); not needed where there is only one"
    parser.add_argument("--workspace", "-w", metavar="W", help=text)


def add_filters(parser: argparse.ArgumentParser) -> None:
    """Add an option for each filter of the API."""
    group = parser.add_argument_group("filters", "One that is given more than once lets through any of them.")
    for name, (_, meaning) in _REPEATED.items():
        group.add_argument(f"--{name}", action="append", default=[], metavar="X", help=meaning)
    for name, (_, meaning) in _DATES.items():
        group.add_argument(f"--{name}", metavar="DATE", help=meaning)
    group.add_argument("--trust-min", choices=_TRUST, help="this level of trust or a better one")


def filters_of(options: Mapping[str, Any]) -> dict[str, Any]:
    """Return the API's filters of parsed options."""
    found = {field: options[name.replace("-", "_")] for name, (field, _) in _REPEATED.items()}
    found |= {field: _start_of(options[name.replace("-", "_")]) for name, (field, _) in _DATES.items()}
    return {name: value for name, value in (found | {"trust_min": options["trust_min"]}).items() if value}


def find_workspace(connection: Connection, named: str | None) -> dict[str, Any]:
    """Return the named workspace, or the only one, as the API has it. Raises CliError with the choices."""
    if named is not None:
        try:
            return dict(connection.get(f"/workspaces/{_segment(named)}"))
        except ApiProblem as problem:
            if problem.status != 404:
                raise
            raise CliError(
                f"There is no workspace {named[:100]!r}; {_choices(connection)}.", code="not_found"
            ) from problem
    found = connection.get("/workspaces", limit=2)["results"]
    if len(found) != 1:
        which = "Say which workspace with --workspace" if found else "No workspace was named, and"
        raise CliError(f"{which}{';' if found else ''} {_choices(connection)}.", code="workspace_needed")
    return dict(found[0])


def _choices(connection: Connection) -> str:
    slugs = [row["slug"] for row in connection.rows("/workspaces", _MOST_CHOICES + 1)]
    if not slugs:
        return "there is none yet: kebab workspace create SLUG"
    more = ", …" if len(slugs) > _MOST_CHOICES else ""
    return f"there are: {', '.join(slugs[:_MOST_CHOICES])}{more}"


def _segment(text: str) -> str:
    from urllib.parse import quote

    return quote(text, safe="") or "-"


def _start_of(text: str | None) -> str | None:
    """Return the start of a year, month or day in UTC; any other text unchanged."""
    form = _DATE.fullmatch(text or "")
    try:
        parts = [int(part or 1) for part in form.groups()] if form else []
        return datetime(*parts, tzinfo=UTC).isoformat() if parts else text  # type: ignore[arg-type]
    except ValueError:
        return text
