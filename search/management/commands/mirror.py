"""The commands `kebab mirror`, the mirror process, `kebab mirror rebuild` and `kebab mirror warm`."""

import signal
import threading
import time
from collections.abc import Iterable
from typing import Any

from django.conf import settings
from django.core.management.base import CommandParser

from kebab.cli.command import KebabCommand, add_subcommand
from kebab.cli.errors import CliError
from kebab.cli.lookup import find_workspace
from kebab.cli.output import table
from kebab.cli.progress_bars import counting_bar
from kebab.health.exporter import serve_metrics
from kebab.identity.models import Workspace
from kebab.observability import tracing
from kebab.observability.metrics.store import begin_process
from kebab.people import audit
from kebab.people.operator import command_line_access
from kebab.stack.models import ProcessRole
from kebab.stack.nodes.registry import Heartbeat
from kebab.stack.nodes.wait_for_migrations import wait_until_migrated
from kebab.stack.servers.borrowed_servers import borrow_stack
from search.mirror.files import MirrorBusy, MirrorFiles
from search.mirror.sync.follow import MirrorFollower
from search.mirror.sync.sync import rebuild_mirror, sync_mirror
from search.models import Document


class Command(KebabCommand):
    help = "Keep this node's mirrors current until SIGTERM; `rebuild` makes them anew, `warm` before traffic."

    def add_arguments(self, parser: CommandParser) -> None:
        super().add_arguments(parser)
        subcommands = parser.add_subparsers(dest="what", metavar="rebuild|warm")
        rebuild = add_subcommand(
            subcommands, "rebuild", "make mirrors anew from Postgres while searches go on"
        )
        rebuild.add_argument("--workspace", "-w", metavar="W", help="slug or id (all workspaces)")
        warm = add_subcommand(subcommands, "warm", "build and follow mirrors before this node takes traffic")
        which = warm.add_mutually_exclusive_group(required=True)
        which.add_argument("--workspace", "-w", metavar="W", help="slug or id")
        which.add_argument("--all", action="store_true", help="the mirrors of all workspaces")

    def run_command(self, *, what: str | None, **options: Any) -> None:
        if what is None:
            _run_follower()
            return
        with borrow_stack(announce=self.remarks.print):
            {"rebuild": self._rebuild, "warm": self._warm}[what](options["workspace"])

    def _warm(self, workspace_name: str | None) -> None:
        workspaces = (
            Workspace.objects.order_by("slug") if workspace_name is None else [find_workspace(workspace_name)]
        )
        started, built = time.perf_counter(), 0
        with counting_bar(self.remarks, "Warming mirrors", len(workspaces)) as advance:
            for workspace in workspaces:
                built += _catch_up(workspace)
                advance()
        seconds = round(time.perf_counter() - started, 3)
        facts = {"schema_version": "mirror_warm.v1", "mirrors": len(workspaces), "built": built}
        self.answer(
            {**facts, "seconds": seconds}, f"{len(workspaces):,} mirrors follow, {built:,} of them built now."
        )

    def _rebuild(self, workspace_name: str | None) -> None:
        workspaces = (
            Workspace.objects.all()
            if workspace_name is None
            else [self.act_in(find_workspace(workspace_name))]
        )
        rows = [self._rebuild_one(workspace) for workspace in workspaces]
        if self.as_json:
            self.print_json({"schema_version": "mirror_rebuild.v1", "mirrors": rows})
        else:
            self._show(rows)

    def _rebuild_one(self, workspace: Workspace) -> dict[str, Any]:
        audit.record(command_line_access(workspace), "mirror.rebuild_asked", workspace.slug)
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


def _catch_up(workspace: Workspace) -> bool:
    """Sync a mirror to the log's end; return whether it was built. A mirror being written is skipped."""
    try:
        return sync_mirror(MirrorFiles.of(settings.KEBAB_MIRROR_DIR, workspace.pk), workspace.pk).was_rebuilt
    except MirrorBusy:
        return False
    except Workspace.DoesNotExist:  # deleted meanwhile
        MirrorFiles.of(settings.KEBAB_MIRROR_DIR, workspace.pk).delete_all()
        return False


def _run_follower() -> None:
    wait_until_migrated()
    stop = threading.Event()
    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, lambda *_: stop.set())
    begin_process("mirror")
    serve_metrics()
    tracing.begin()
    with Heartbeat(ProcessRole.MIRROR):
        MirrorFollower(settings.KEBAB_MIRROR_DIR, stop).run()
