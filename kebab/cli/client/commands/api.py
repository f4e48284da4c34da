"""`kebab api METHOD PATH`."""

import argparse
import json
import sys
from pathlib import Path
from typing import Any
from urllib.parse import quote

from kebab.cli.client.arguments import Parser, add_workspace
from kebab.cli.client.connection import Connection, Needs
from kebab.cli.client.terminal import Terminal
from kebab.cli.client.workspaces import find_workspace
from kebab.cli.errors import CliError
from kebab.cli.output import plain
from kebab.exit_codes import Exit

NEEDS: Needs = "servers"
EXAMPLES = (
    "kebab api GET /workspaces/{ws}/quarantine --all",
    """kebab api POST /workspaces/{ws}/members --data '{"email": "ada@example.org", "role": "editor"}'""",
    "kebab api PUT /workspaces/{ws}/rules --data @rules.json",
)
_METHODS = ("GET", "POST", "PUT", "PATCH", "DELETE")
_BASE = "/api/v1"
# What an address may hold as it is; all else is encoded.
_SAFE = "/?&=%+,:;@!$'()*~"


def add_arguments(parser: Parser) -> None:
    """Add the arguments."""
    parser.add_argument(
        "method", type=str.upper, choices=_METHODS, metavar="METHOD", help=", ".join(_METHODS)
    )
    text = f"an address below {_BASE}, with its parameters; {{ws}} stands for the workspace"
    parser.add_argument("path", metavar="PATH", help=text)
    add_workspace(parser)
    text = "the body; @FILE is read from a file, - from standard input"
    parser.add_argument("--data", type=_read_body, default=b"", metavar="JSON", help=text)
    parser.add_argument("--all", action="store_true", help="the rows of all pages of a list, one on a line")


def run(connection: Connection, options: dict[str, Any], terminal: Terminal) -> int:
    """Send the request, print the JSON of the answer, and return the exit code."""
    method, body = options["method"], options["data"]
    if method == "GET" and body:
        raise CliError("Leave out --data with GET, and write parameters behind a ? of the path.")
    if method != "GET" and options["all"]:
        raise CliError(f"{method} is not answered in pages; leave out --all.")
    path = _resolve(connection, options)
    if options["all"]:
        for row in connection.rows(path, sys.maxsize):
            terminal.document(row)
        return Exit.DONE
    document = connection.send(method, path, body, "application/json").document()
    if document is not None:
        _print(terminal, document)
    return Exit.DONE


def _resolve(connection: Connection, options: dict[str, Any]) -> str:
    """Return the address below `/api/v1`, with the workspace in its place."""
    path = f"/{options['path'].removeprefix(_BASE).lstrip('/')}"
    if "{ws}" in path:
        path = path.replace("{ws}", find_workspace(connection, options["workspace"]).slug)
    elif options["workspace"] is not None:
        raise CliError(f"--workspace fills {{ws}}, which {path[:100]!r} lacks; leave it out.")
    return quote(path, safe=_SAFE)


def _print(terminal: Terminal, document: Any) -> None:
    """Print a document: indented at a terminal, else on a line."""
    if terminal.as_json or not terminal.out.isatty():
        terminal.document(document)
    else:
        terminal.print(plain(json.dumps(document, indent=2, ensure_ascii=False)))


def _read_body(text: str) -> bytes:
    """Return a JSON body, of a file or standard input where the text says so. Raises ArgumentTypeError."""
    try:
        if text == "-":
            text = sys.stdin.read()
        elif text.startswith("@"):
            text = Path(text[1:]).read_text(encoding="utf-8")
        json.loads(text)
        return text.encode()
    except (OSError, ValueError) as error:
        raise argparse.ArgumentTypeError(f"{text[:100]!r} can't be read as JSON: {error}") from error
