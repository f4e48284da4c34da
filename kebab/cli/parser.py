"""Argument parsing of commands: errors as text or JSON, subcommands, durations, paths."""

import argparse
import sys
from pathlib import Path
from typing import Any, NoReturn

from django.core.management.base import CommandError, CommandParser

from kebab.cli.client.arguments import add_json_flag
from kebab.cli.errors import write_error
from kebab.exit_codes import Exit


class KebabCommandParser(CommandParser):
    """Reports a wrong argument as `error.v1` if `--json` is on the command line; exit code 2."""

    def error(self, message: str) -> NoReturn:
        """Report the error and exit; within a program (`call_command`) raise CommandError."""
        if not self.called_from_command_line:
            raise CommandError(f"Error: {message}", returncode=Exit.ERROR)
        as_json = "--json" in sys.argv
        if not as_json:
            self.print_usage(sys.stderr)
        write_error("invalid_arguments", message, sys.stderr, as_json=as_json)
        self.exit(Exit.ERROR)


def add_subcommand(subparsers: Any, name: str, description: str) -> argparse.ArgumentParser:
    """Add the subcommand `name` to the result of `add_subparsers`; it accepts `--json` after it, too."""
    parser: argparse.ArgumentParser = subparsers.add_parser(name, help=description, description=description)
    add_json_flag(parser, default=argparse.SUPPRESS)
    return parser


def add_workspace(parser: argparse.ArgumentParser, **options: Any) -> None:
    """Add `--workspace` to a parser; `find_workspace` resolves it."""
    text = "slug or id; not needed when there is only one"
    parser.add_argument("--workspace", metavar="W", help=text, **options)


def path_argument(text: str) -> Path:
    """Parse a path and expand `~` and `~user`: a `type` for arguments.

    Raises ArgumentTypeError.
    """
    if not text.strip():
        raise argparse.ArgumentTypeError("a path is empty; give a folder or a file, . for where you are")
    try:
        return Path(text).expanduser()
    except RuntimeError as error:
        raise argparse.ArgumentTypeError(f"{text!r} begins with the home of nobody known here") from error
