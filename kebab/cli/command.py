"""The base of all verbs: `kebab VERB`, which is Django's management command of that name."""

import argparse
import os
import signal
import sys
from contextlib import AbstractContextManager, ExitStack, nullcontext
from pathlib import Path
from typing import Any, ClassVar, Literal, TextIO

from django.core.management.base import BaseCommand, CommandParser
from rich.console import Console

from kebab.cli.errors import Exit, report_any
from kebab.cli.output import people_console, plain, write_json
from kebab.cli.parser import VerbParser, add_json_flag, refuse_broken_text
from kebab.people.models import Workspace
from kebab.runtime.shutdown import ending_in_order
from kebab.stack.nodes.wait_for_migrations import await_migrations
from kebab.stack.servers.borrowed_servers import borrowed_stack
from kebab.stack.supervisor.plan import Roles
from kebab.tenancy.current_workspace import acting_everywhere, acting_in, acting_nowhere

_INTERRUPTED = 128 + signal.SIGINT


class BaseVerb(BaseCommand):
    """A verb: override `run_verb`, and `add_arguments` (calling it here first) for its arguments.

    With `--json` it prints one JSON document, or one a line, on stdout by `self.print_json`; people get what
    `self.console` prints there. Progress and remarks go to `self.remarks`, which is stderr.
    """

    #: Whether it acts in all workspaces, until it says which; else in none, as what serves others does.
    acts_everywhere: ClassVar[bool] = True
    #: Whether it waits for a database of one's own to be migrated; "reachable": not for one that is away.
    awaits_migrations: ClassVar[Literal["always", "reachable"] | None] = None
    #: The embedded servers, or the whole stack with its workers, run while `run_verb` does.
    needs: ClassVar[Literal["servers", "workers"] | None] = None
    # They import every view, which most verbs never use; `make check` runs them.
    requires_system_checks: ClassVar[list[str]] = []

    as_json: bool = False

    def run_verb(self, **options: Any) -> int | None:
        """Do it and give the exit code (`kebab.cli.errors.Exit`); None is 0."""
        raise NotImplementedError

    def add_arguments(self, parser: CommandParser) -> None:
        """Add `--json`."""
        add_json_flag(parser)

    def print_json(self, document: Any) -> None:
        """Print one JSON document on a line of stdout."""
        write_json(self._stdout, document)

    def act_in(self, workspace: Workspace) -> Workspace:
        """See and write the rows of this workspace alone from here on; give it."""
        self._acting.enter_context(acting_in(workspace.pk))
        return workspace

    def answer(self, facts: dict[str, Any], message: str) -> int:
        """Print what has been done, as `facts` or as people read it, and give the exit code."""
        if self.as_json:
            self.print_json(facts)
        else:
            self.console.print(plain(message))
        return Exit.DONE

    @property
    def console(self) -> Console:
        """Return what people read on stdout."""
        return people_console(self._stdout)

    @property
    def remarks(self) -> Console:
        """Return what people read on stderr; nothing goes to it with `--json`."""
        console = people_console(self._stderr)
        console.quiet = self.as_json
        return console

    def create_parser(self, prog_name: str, subcommand: str, **kwargs: Any) -> VerbParser:
        """Return the parser. Django's own options work but aren't shown; `--version` is left to the verbs."""
        parser = VerbParser(
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
        self.add_arguments(parser)
        return parser

    def execute(self, *args: Any, **options: Any) -> None:
        """Remember the streams, which Django wraps, and run."""
        self._stdout: TextIO = options.get("stdout") or sys.stdout
        self._stderr: TextIO = options.get("stderr") or sys.stderr
        super().execute(*args, **options)

    def handle(self, *args: Any, **options: Any) -> None:
        """Run the verb and exit with its code, if it isn't 0."""
        self.as_json = options.pop("as_json", False)
        code = self._outcome(options)
        if code != Exit.DONE:
            raise SystemExit(code)

    def _outcome(self, options: dict[str, Any]) -> int:
        try:
            refuse_broken_text(options)
            with self._stack(), ending_in_order(), ExitStack() as self._acting:
                self._acting.enter_context(acting_everywhere() if self.acts_everywhere else acting_nowhere())
                if self.awaits_migrations is not None:
                    await_migrations(without_database=self.awaits_migrations == "reachable")
                return int(self.run_verb(**options) or Exit.DONE)
        except KeyboardInterrupt:
            return _INTERRUPTED
        except BrokenPipeError:
            # The reader has gone (`| head`); what is still buffered must not fail at exit.
            os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
            return Exit.DONE
        except Exception as error:  # noqa: BLE001 - the end of a process, which tells any
            return report_any(error, self._stderr, as_json=self.as_json)

    def _stack(self) -> AbstractContextManager[None]:
        if self.needs is None:
            return nullcontext()
        roles = Roles.SERVERS if self.needs == "servers" else Roles.WORKERS
        return borrowed_stack(roles, announce=self.remarks.print)
