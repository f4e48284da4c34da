"""`kebab mirror`, the mirror process, `kebab mirror rebuild` and `kebab mirror warm`."""

import signal
import threading
import time
from collections.abc import Iterable
from typing import Any

from django.conf import settings
from django.core.management.base import CommandParser

from kebab.cli.command import BaseVerb
from kebab.cli.errors import CliError
from kebab.cli.lookup import the_workspace
from kebab.cli.output import table
from kebab.cli.parser import subverb
from kebab.observability import tracing
from kebab.observability.metrics.exporter import serve_counts
from kebab.observability.metrics.store import begin
from kebab.people import audit
from kebab.people.models import Workspace
from kebab.people.operator import the_operator
from kebab.stack.models import ProcessRole
from kebab.stack.nodes.heartbeat import Heartbeat
from kebab.stack.nodes.wait_for_migrations import await_migrations
from kebab.stack.servers.borrowed_servers import borrowed_stack
from search.cli.progress_bars import counting_bar
from search.mirror.errors import MirrorBusy
from search.mirror.files import MirrorFiles
from search.mirror.sync.follow import MirrorFollower
from search.mirror.sync.sync import rebuild_mirror, sync_mirror
from search.models import Document


class Command(BaseVerb):
    help = "Keep this node's mirrors current until SIGTERM; `rebuild` makes them anew, `warm` before traffic."

    def add_arguments(self, parser: CommandParser) -> None:
        super().add_arguments(parser)
        verbs = parser.add_subparsers(dest="what", metavar="rebuild|warm")
        rebuild = subverb(verbs, "rebuild", "make mirrors anew from Postgres while searches go on")
        rebuild.add_argument("--workspace", metavar="W", help="slug or id (all workspaces)")
        warm = subverb(verbs, "warm", "build and follow mirrors before this node takes traffic")
        which = warm.add_mutually_exclusive_group(required=True)
        which.add_argument("--workspace", metavar="W", help="slug or id")
        which.add_argument("--all", action="store_true", help="those of all workspaces")

    def run_verb(self, *, what: str | None, **options: Any) -> None:
        if what is None:
            _follow()
            return
        with borrowed_stack(announce=self.remarks.print):
            {"rebuild": self._rebuild, "warm": self._warm}[what](options["workspace"])

    def _warm(self, named: str | None) -> None:
        workspaces = Workspace.objects.order_by("slug") if named is None else [the_workspace(named)]
        started, built = time.perf_counter(), 0
        with counting_bar(self.remarks, "Warming mirrors", len(workspaces)) as advance:
            for workspace in workspaces:
                built += _follow_up(workspace)
                advance()
        seconds = round(time.perf_counter() - started, 3)
        facts = {"schema_version": "mirror_warm.v1", "mirrors": len(workspaces), "built": built}
        self.answer(
            {**facts, "seconds": seconds}, f"{len(workspaces):,} mirrors follow, {built:,} of them built now."
        )

    def _rebuild(self, named: str | None) -> None:
        workspaces = Workspace.objects.all() if named is None else [self.act_in(the_workspace(named))]
        rows = [self._rebuild_one(workspace) for workspace in workspaces]
        if self.as_json:
            self.print_json({"schema_version": "mirror_rebuild.v1", "mirrors": rows})
        else:
            self._show(rows)

    def _rebuild_one(self, workspace: Workspace) -> dict[str, Any]:
        audit.record(the_operator(workspace), "mirror.rebuild_asked", workspace.slug)
        files = MirrorFiles.of(settings.KEBAB_MIRROR_DIR, workspace.pk)
        total = Document.objects.in_workspace(workspace).count()
        started = time.perf_counter()
        try:
            with counting_bar(self.remarks, f"Rebuilding {workspace.slug}", total) as advance:
                report = rebuild_mirror(files, workspace.pk, on_document=advance)
        except MirrorBusy as error:
            raise CliError(
                f"The mirror of {workspace.slug} is being written by another process; try again.",
                code="mirror_busy",
            ) from error
        seconds = round(time.perf_counter() - started, 3)
        counts = {"documents": report.documents, "seq": report.applied_seq}
        return {"workspace": workspace.slug, **counts, "seconds": seconds}

    def _show(self, rows: Iterable[dict[str, Any]]) -> None:
        self.console.print(table(("workspace", "documents", "seq", "seconds"), rows))


def _follow_up(workspace: Workspace) -> bool:
    """Bring a mirror to the log's end; give whether it was built now. One that is written now is left."""
    try:
        return sync_mirror(MirrorFiles.of(settings.KEBAB_MIRROR_DIR, workspace.pk), workspace.pk).was_rebuilt
    except MirrorBusy:
        return False
    except Workspace.DoesNotExist:  # meanwhile
        MirrorFiles.of(settings.KEBAB_MIRROR_DIR, workspace.pk).remove_all()
        return False


def _follow() -> None:
    await_migrations()
    stop = threading.Event()
    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, lambda *_: stop.set())
    begin("mirror")
    serve_counts()
    tracing.begin()
    with Heartbeat(ProcessRole.MIRROR):
        MirrorFollower(settings.KEBAB_MIRROR_DIR, stop).run()
