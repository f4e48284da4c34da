"""Arguments that commands share: the workspace, JSON, the filters of the API."""

import argparse
import json
import re
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime, timedelta
from functools import partial
from types import ModuleType
from typing import Any, Final, NoReturn, TextIO

from kebab.cli.errors import CliError, write_error
from kebab.exit_codes import Exit

_DURATION = re.compile(r"([1-9][0-9]{0,4})([dhm])")
_UNITS = {"d": "days", "h": "hours", "m": "minutes"}
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
_METADATA = re.compile(r"(?P<not>!?)(?P<name>[^=<>!]+)(?:(?P<sign>!=|<=|>=|=|<|>)(?P<value>.+))?", re.DOTALL)
_COMPARISONS: Final = {">": "gt", ">=": "gte", "<": "lt", "<=": "lte"}
#: The levels of trust, the best first.
TRUST: Final = ("primary", "secondary", "generated", "unknown")


class Parser(argparse.ArgumentParser):
    """A parser that reports a wrong argument as `error.v1` with `--json`, and exits with 2."""

    def __init__(self, *, arguments: Sequence[str], err: TextIO, **options: Any) -> None:
        super().__init__(**options, allow_abbrev=False)
        #: The arguments, which say whether JSON is wanted before they are parsed.
        self.arguments = arguments
        self.err = err

    def error(self, message: str) -> NoReturn:
        """Report the error and exit."""
        as_json = "--json" in self.arguments
        text = f"{message[0].upper()}{message[1:]}. {self.prog} --help explains the options."
        write_error("invalid_arguments", message if as_json else text, self.err, as_json=as_json)
        self.exit(Exit.ERROR)


def make_parser(name: str, about: str, module: ModuleType, arguments: Sequence[str], err: TextIO) -> Parser:
    """Return the parser of a command, whose module adds its arguments and names examples."""
    examples = "".join(f"\n  {each}" for each in module.EXAMPLES)
    parser = Parser(
        prog=f"kebab {name}",
        description=f"{about[0].upper()}{about[1:]}.",
        epilog=f"examples:{examples}",
        formatter_class=argparse.RawDescriptionHelpFormatter,
        arguments=arguments,
        err=err,
    )
    add_json_flag(parser)
    module.add_arguments(parser)
    return parser


def add_subcommands(
    parser: Parser, commands: Mapping[str, tuple[str, str]], *, required: bool = True
) -> dict[str, Parser]:
    """Add subcommands, stored as `what`, by name with their positional arguments and a line; return parsers.

    Each takes `--workspace` and `--json`, too.
    """
    made_like_this: Any = partial(Parser, arguments=parser.arguments, err=parser.err)
    group = parser.add_subparsers(
        dest="what", metavar="|".join(commands), parser_class=made_like_this, required=required
    )
    found: dict[str, Parser] = {}
    for name, (arguments, text) in commands.items():
        about = f"{text[0].upper()}{text[1:]}."
        found[name] = command = group.add_parser(name, help=text, description=about)
        add_json_flag(command, default=argparse.SUPPRESS)
        for argument in arguments.split():
            command.add_argument(argument.lower(), metavar=argument)
        add_workspace(command, default=argparse.SUPPRESS)
    add_workspace(parser, default=None)
    return found


def add_json_flag(parser: argparse.ArgumentParser, **options: Any) -> None:
    """Add `--json` to a parser."""
    text = "print JSON on stdout, and errors as error.v1 on stderr"
    parser.add_argument("--json", dest="as_json", action="store_true", help=text, **options)


def add_workspace(parser: argparse.ArgumentParser, **options: Any) -> None:
    """Add `--workspace`; `find_workspace` finds it."""
    text = "slug or id (KEBAB_WORKSPACE); not needed where there is only one"
    parser.add_argument("--workspace", "-w", metavar="W", help=text, **options)


def duration(text: str) -> timedelta:
    """Parse `30d`, `12h` or `45m`: a `type` for arguments. Raises ArgumentTypeError."""
    form = _DURATION.fullmatch(text)
    if form is None:
        raise argparse.ArgumentTypeError(f"{text!r} is not a length of time; write 30d, 12h or 45m")
    return timedelta(**{_UNITS[form[2]]: int(form[1])})


def group_names(text: str) -> tuple[str, ...]:
    """Return the names in `a, b`, none for '': a `type` for arguments. Raises ArgumentTypeError."""
    if not text.strip():
        return ()
    names = tuple(name.strip() for name in text.split(","))
    if not all(names):
        raise argparse.ArgumentTypeError(f"{text!r} names no group between two commas")
    return names


def parse_pairs(texts: Sequence[str]) -> dict[str, Any]:
    """Return the values of `NAME=VALUE` as JSON or text; an empty one is None. Raises CliError."""
    found = {}
    for text in texts:
        name, equals, value = text.partition("=")
        if not equals:
            raise CliError(f"{text!r} is not a setting; write NAME=VALUE.", code="invalid_request")
        found[name.strip()] = _parse_value(value.strip())
    return found


def _parse_value(text: str) -> Any:
    if not text:
        return None
    try:
        return json.loads(text)
    except ValueError:
        return text


def add_filters(parser: argparse.ArgumentParser) -> None:
    """Add an option for each filter of the API."""
    group = parser.add_argument_group("filters", "One that is given more than once lets through any of them.")
    for name, (_, meaning) in _REPEATED.items():
        group.add_argument(f"--{name}", action="append", default=[], metavar="X", help=meaning)
    for name, (_, meaning) in _DATES.items():
        group.add_argument(f"--{name}", metavar="DATE", help=meaning)
    group.add_argument("--trust-min", choices=TRUST, help="this level of trust or a better one")
    text = (
        "team=ops, team!=dev, 'year>=2020', 'due<2026-01-31', team: has one, !team: has none; all must hold"
    )
    group.add_argument("--metadata", action="append", default=[], metavar="X", help=text)


def filters_of(options: Mapping[str, Any]) -> dict[str, Any]:
    """Return the API's filters of parsed options."""
    found = {field: options[name.replace("-", "_")] for name, (field, _) in _REPEATED.items()}
    found |= {field: _start_of(options[name.replace("-", "_")]) for name, (field, _) in _DATES.items()}
    found |= {"trust_min": options["trust_min"], "metadata": _metadata_filter(options["metadata"])}
    return {name: value for name, value in found.items() if value}


def _metadata_filter(given: Sequence[str]) -> dict[str, Any]:
    """Return the filter on metadata; values given for the same field are alternatives. Raises CliError."""
    found: dict[str, dict[str, Any]] = {}
    for text in given:
        form = _METADATA.fullmatch(text)
        if form is None:
            raise CliError(f"--metadata {text!r} is not a condition; write team=ops, 'year>=2020' or team.")
        field = found.setdefault(form["name"], {})
        if form["sign"] is None:
            field["exists"] = not form["not"]
        elif form["sign"] in ("=", "!="):
            key = "in" if form["sign"] == "=" else "not"
            field[key] = [*field.get(key, ()), *_readings(form["value"])]
        else:
            field[_COMPARISONS[form["sign"]]] = _readings(form["value"])[0]
    return found


def _readings(text: str) -> list[str | float]:
    """Return what a value may mean: a number, if it is one, and the text."""
    try:
        return [float(text), text]
    except ValueError:
        return [text]


def _start_of(text: str | None) -> str | None:
    """Return the start of a year, month or day in UTC; any other text unchanged."""
    form = _DATE.fullmatch(text or "")
    try:
        if form is None:
            return text
        year, month, day = (int(part or 1) for part in form.groups())
        return datetime(year, month, day, tzinfo=UTC).isoformat()
    except ValueError:
        return text
