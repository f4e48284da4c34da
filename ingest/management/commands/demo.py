"""`kebab demo`, which `make demo` runs."""

import signal
import time
from typing import Any

from django.conf import settings
from django.core.management.base import CommandParser

from ingest.cli.demo.corpus import write_corpus
from ingest.cli.demo.people import Administrator, ensure_administrator, ensure_workspace
from ingest.cli.demo.stack import DemoStack, serving_stack
from ingest.cli.folders import sync_folder
from ingest.cli.job_progress import find_open_job, follow
from ingest.models import JobState
from kebab.cli.command import KebabCommand
from kebab.cli.errors import CliError, Exit
from kebab.cli.main import run as run_command
from kebab.cli.progress_bars import bar
from kebab.locations import DOCS
from kebab.people.models import Workspace
from kebab.stack.configuration import StackConfiguration
from kebab.stack.paths import DataDirectory
from search.models import Chunk, Document, Trust

_QUESTION = "how do I show a progress bar in the terminal"
_SHOWN_HITS = 5
# Hybrid search works with the first vectors; the rest follow in the background.
_VECTORS_LIMIT_S = 8.0
_POLL_S = 0.2


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
            self._ingest(workspace)
            self._await_vectors(workspace)
            self._search(workspace)
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

    def _ingest(self, workspace: Workspace) -> None:
        started = time.monotonic()
        folder = DataDirectory(settings.KEBAB_DATA_DIR).demo
        write_corpus(folder, DOCS.parent)
        requested = sync_folder(workspace, folder, "demo", trust=Trust.PRIMARY)
        job = follow(requested, self.remarks, "Ingesting")
        if job.state != JobState.SUCCEEDED:
            raise CliError(f"The ingestion ended as {job.state}. {job.error}", code="job_failed")
        documents = Document.objects.in_workspace(workspace).count()
        chunks = Chunk.objects.in_workspace(workspace).count()
        seconds = time.monotonic() - started
        self.console.print(f"Indexed {documents:,} documents, {chunks:,} chunks, in {seconds:.1f} s.")

    def _await_vectors(self, workspace: Workspace) -> None:
        deadline = time.monotonic() + _VECTORS_LIMIT_S
        done = total = 0
        with bar(self.remarks, "Embedding") as progress:
            while (job := find_open_job(workspace)) is not None and time.monotonic() < deadline:
                done, total = job.items_done, job.items_total
                progress.show(done, total)
                time.sleep(_POLL_S)
            if job is None:
                progress.finish()
        if job is not None:
            self.remarks.print(
                f"{total - done:,} chunks wait for their vectors; they follow as long as a stack runs."
            )

    def _search(self, workspace: Workspace) -> None:
        self.console.print(f"\nSearching for: {_QUESTION}\n")
        arguments = ["search", _QUESTION, "--workspace", workspace.slug, "-k", str(_SHOWN_HITS)]
        if run_command(arguments, self._stdout, self._stderr) != Exit.DONE:
            raise CliError("The first search found nothing; kebab doctor may say why.", code="nothing_found")

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
