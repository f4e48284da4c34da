"""The base class of all commands: `kebab COMMAND` runs Django's management command of that name."""

import argparse
import gc
import sys
from contextlib import AbstractContextManager, ExitStack, nullcontext
from pathlib import Path
from typing import Any, ClassVar, Literal, NoReturn, TextIO

from django.conf import settings
from django.core.management.base import BaseCommand, CommandError, CommandParser
from rich.console import Console

from kebab.cli.client.arguments import add_json_flag
from kebab.cli.client.connection import named_server, origin
from kebab.cli.errors import CliError, refuse_invalid_utf8, run_to_exit_code, write_error
from kebab.cli.output import people_console, plain, write_json
from kebab.exit_codes import Exit
from kebab.identity.models import Workspace
from kebab.observability.shutdown import run_callbacks_at_end
from kebab.stack.configuration import StackConfiguration
from kebab.stack.nodes.wait_for_migrations import wait_until_migrated
from kebab.stack.servers.borrowed_servers import borrow_stack
from kebab.stack.supervisor.plan import Roles
from kebab.tenancy.current_workspace import acting_everywhere, acting_in, acting_nowhere


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
    """Add the subcommand `name` to the result of `add_subparsers`; it accepts `--json` and `--local`, too."""
    parser: argparse.ArgumentParser = subparsers.add_parser(name, help=description, description=description)
    add_json_flag(parser, default=argparse.SUPPRESS)
    _add_local_flag(parser, default=argparse.SUPPRESS)
    return parser


def _add_local_flag(parser: argparse.ArgumentParser, **options: Any) -> None:
    text = "act on this machine, whatever server one is logged in to"
    parser.add_argument("--local", dest="is_local", action="store_true", help=text, **options)


def _refuse_other_server() -> None:
    """Raise CliError if the caller is logged in to a server that is not this machine's."""
    address, _ = named_server()
    own = {origin(StackConfiguration.from_settings().url), origin(settings.KEBAB_URL)}
    if address and origin(address) not in own:
        raise CliError(
            f"This command acts on {settings.KEBAB_DATA_DIR}, and you are logged in to {address[:200]}."
            " Add --local to act here.",
            code="logged_in_elsewhere",
        )


def add_workspace(parser: argparse.ArgumentParser, **options: Any) -> None:
    """Add `--workspace` to a parser; `find_workspace` resolves it."""
    text = "slug or id; not needed when there is only one"
    parser.add_argument("--workspace", "-w", metavar="W", help=text, **options)


def describe_options(parser: argparse.ArgumentParser, **texts: str) -> None:
    """Set the help of options of a command of Django's, by name; its others work but are hidden."""
    for action in parser._actions:
        if action.dest != "help":
            action.help = texts.get(action.dest, argparse.SUPPRESS)


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


class KebabCommand(BaseCommand):
    """A command: override `run_command`, and `add_arguments` (calling it here first) for its arguments.

    With `--json` it prints one JSON document, or one on each line, to stdout by `self.print_json`; else it
    prints text to stdout by `self.console`. Progress and remarks go to `self.remarks`, which is stderr.
    """

    #: Whether it acts in all workspaces until it selects one; else in none, as servers do.
    acts_everywhere: ClassVar[bool] = True
    #: Whether it waits for migrations of the database; "reachable": not if the database is down.
    awaits_migrations: ClassVar[Literal["always", "reachable"] | None] = None
    #: The embedded servers, or also the workers, that must run while `run_command` does.
    needs: Roles | None = None
    # They import every view, which most commands never use; `make check` runs them.
    requires_system_checks = ()

    as_json: bool = False
    _called_from_command_line: bool

    def run_command(self, *args: Any, **options: Any) -> int | None:
        """Run the command and return the exit code (`kebab.exit_codes.Exit`); None is 0."""
        raise NotImplementedError

    def add_arguments(self, parser: CommandParser) -> None:
        """Add `--json`."""
        add_json_flag(parser)

    def print_json(self, document: Any) -> None:
        """Print one JSON document as a line on stdout."""
        write_json(self._stdout, document)

    def act_in(self, workspace: Workspace) -> Workspace:
        """Act in this workspace alone from here on; return it."""
        self._contexts.enter_context(acting_in(workspace.pk))
        return workspace

    def answer(self, facts: dict[str, Any], message: str) -> int:
        """Print the result, as JSON `facts` or as `message`, and return the exit code."""
        if self.as_json:
            self.print_json(facts)
        else:
            self.console.print(plain(message))
        return Exit.DONE

    @property
    def console(self) -> Console:
        """Return the console on stdout for text output."""
        return people_console(self._stdout)

    @property
    def remarks(self) -> Console:
        """Return the console on stderr for text output; it is silent with `--json`."""
        console = people_console(self._stderr)
        console.quiet = self.as_json
        return console

    def create_parser(self, prog_name: str, subcommand: str, **kwargs: Any) -> KebabCommandParser:
        """Return the parser. Django's own options work but are hidden; `--version` is left to commands."""
        parser = KebabCommandParser(
            prog=f"{Path(prog_name).name} {subcommand}",
            description=self.help,
            called_from_command_line=self._called_from_command_line,
            **kwargs,
        )
        for name in ("--settings", "--pythonpath"):
            parser.add_argument(name, help=argparse.SUPPRESS)
        for name in ("--traceback", "--no-color", "--force-color"):
            parser.add_argument(name, action="store_true", help=argparse.SUPPRESS)
        parser.add_argument("--verbosity", type=int, default=1, help=argparse.SUPPRESS)
        if self.needs is not None:
            _add_local_flag(parser)
        self.add_arguments(parser)
        return parser

    def execute(self, *args: Any, **options: Any) -> None:
        """Remember the original streams, which Django wraps, and run."""
        self._stdout: TextIO = options.get("stdout") or sys.stdout
        self._stderr: TextIO = options.get("stderr") or sys.stderr
        super().execute(*args, **options)

    def handle(self, *args: Any, **options: Any) -> None:
        """Run the command and exit with its code, if it isn't 0."""
        self.as_json = options.pop("as_json", False)
        gc.freeze()
        gc.enable()  # which the entry point has put off
        code = run_to_exit_code(lambda: self._run_in_context(options), self._stderr, as_json=self.as_json)
        if code != Exit.DONE:
            raise SystemExit(code)

    def _run_in_context(self, options: dict[str, Any]) -> int:
        refuse_invalid_utf8(options)
        if not options.pop("is_local", False) and self.needs is not None:
            _refuse_other_server()
        with self._borrow_stack(), run_callbacks_at_end(), ExitStack() as self._contexts:
            self._contexts.enter_context(acting_everywhere() if self.acts_everywhere else acting_nowhere())
            if self.awaits_migrations is not None:
                wait_until_migrated(without_database=self.awaits_migrations == "reachable")
            return int(self.run_command(**options) or Exit.DONE)

    def _borrow_stack(self) -> AbstractContextManager[None]:
        if self.needs is None:
            return nullcontext()
        return borrow_stack(self.needs, announce=self.remarks.print)
