"""`kebab demo`, which `make demo` runs."""

import signal
import time
from typing import Any

from django.conf import settings
from django.core.management.base import CommandParser

from ingest.cli.demo.corpus import write_corpus
from ingest.cli.demo.people import Administrator, ensure_administrator, ensure_workspace
from ingest.cli.demo.stack import DemoStack, serving_stack
from kebab.cli.catalogue import COMMANDS
from kebab.cli.client.arguments import make_parser
from kebab.cli.client.commands import ingest as ingest_command
from kebab.cli.client.connection import Connection, HttpTransport, operator_token
from kebab.cli.client.job_progress import EmbeddingWatch, follow
from kebab.cli.client.terminal import Terminal
from kebab.cli.client.workspaces import find_workspace
from kebab.cli.command import KebabCommand
from kebab.cli.errors import CliError
from kebab.cli.main import run as run_command
from kebab.exit_codes import Exit
from kebab.identity.models import Workspace
from kebab.locations import DOCS
from kebab.stack.configuration import StackConfiguration
from kebab.stack.paths import DataDirectory
from search.models import Chunk, Document

_QUESTION = "how do I show a progress bar in the terminal"
_SHOWN_HITS = 5
# Hybrid search works with the first vectors; the rest follow in the background.
_VECTORS_LIMIT_S = 8.0


class Command(KebabCommand):
    help = "Start the stack with a workspace of real text, search it once, and serve until Ctrl-C."

    def add_arguments(self, parser: CommandParser) -> None:
        super().add_arguments(parser)
        parser.add_argument("--once", action="store_true", help="stop after the first search")

    def run_command(self, *, once: bool, **_: Any) -> int:
        # SIGTERM from a service manager stops it as cleanly as Ctrl-C.
        signal.signal(signal.SIGTERM, signal.default_int_handler)
        with serving_stack(StackConfiguration.from_settings(), self.remarks) as stack:
            administrator = ensure_administrator()
            # First, before anything else can fail: the password is not shown again.
            self._print_sign_in(stack, administrator)
            workspace = ensure_workspace(administrator.user)
            # Not the server of `kebab login`: the demonstration is on this machine.
            transport = HttpTransport(stack.url)
            self._ingest(workspace, Connection(transport=transport, token=operator_token, is_local=True))
            self.console.print(f"\nSearching for: {_QUESTION}\n")
            arguments = ["search", _QUESTION, "--workspace", workspace.slug, "-k", str(_SHOWN_HITS)]
            if run_command(arguments, self._stdout, self._stderr) != Exit.DONE:
                raise CliError(
                    "The first search found nothing; kebab doctor may say why.", code="nothing_found"
                )
            if not once:
                self._serve(stack)
        return Exit.DONE

    def _print_sign_in(self, stack: DemoStack, administrator: Administrator) -> None:
        email = administrator.user.email
        self.console.print(f"Kebab: {stack.url}")
        if administrator.password is None:
            self.console.print(f"Sign in as {email}. Forgotten the password: kebab changepassword {email}\n")
        else:
            self.console.print(f"Sign in as {email} with {administrator.password}")
            self.console.print("The password is shown only now.\n")

    def _ingest(self, workspace: Workspace, connection: Connection) -> None:
        started = time.monotonic()
        folder = DataDirectory(settings.KEBAB_DATA_DIR).demo
        write_corpus(folder, DOCS.parent)
        terminal = Terminal(self._stdout, self._stderr, as_json=self.as_json)
        api = find_workspace(connection, workspace.slug)
        # As `kebab ingest FOLDER --source demo --trust primary` does.
        arguments = [str(folder), "--source", "demo", "--trust", "primary"]
        parser = make_parser("ingest", COMMANDS["ingest"], ingest_command, arguments, self._stderr)
        options = vars(parser.parse_args(arguments))
        requested = ingest_command.request_ingest(api, options["target"], options, terminal)
        watch = EmbeddingWatch.start(api, requested)
        job = follow(api, requested, terminal, "Ingesting")
        if job["state"] != "succeeded":
            raise CliError(f"The ingestion ended as {job['state']}. {job['error']}", code="job_failed")
        documents = Document.objects.in_workspace(workspace).count()
        chunks = Chunk.objects.in_workspace(workspace).count()
        seconds = time.monotonic() - started
        self.console.print(f"Indexed {documents:,} documents, {chunks:,} chunks, in {seconds:.1f} s.")
        if left := watch.follow(terminal, _VECTORS_LIMIT_S):
            terminal.remark(f"{left:,} chunks wait for their vectors; they follow as long as a stack runs.")

    def _serve(self, stack: DemoStack) -> None:
        if stack.child is None:
            self.remarks.print(f"\nThe stack at {stack.url} was running before; it goes on.")
            return
        self.remarks.print(f"\nKebab serves at {stack.url}; above is who signs in. Ctrl-C stops it.")
        try:
            stack.wait_for_end()
        except KeyboardInterrupt:
            return
        raise CliError(f"The stack has ended; see {stack.child.plan.log}.", code="stack_error")
