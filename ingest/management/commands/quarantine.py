"""`kebab quarantine`: list, retry and delete the files that could not be read."""

from typing import Any

from django.core.management.base import CommandParser

from ingest.jobs.items.quarantine import unreadable_files
from ingest.models import Unreadable
from ingest.services.quarantine import delete_unreadable, retry_unreadable
from ingest.skip_messages import explanations
from kebab.cli.command import KebabCommand
from kebab.cli.errors import CliError, Exit
from kebab.cli.lookup import find_workspace
from kebab.cli.output import table
from kebab.cli.parser import add_subcommand, add_workspace
from kebab.people.access.caller import Access
from kebab.people.models import Workspace
from kebab.people.operator import command_line_access

_COLUMNS = ("id", "source", "version", "path", "size_bytes", "at", "state", "reason")


class Command(KebabCommand):
    help = "List the files that could not be read; `retry ID` reads one again, `delete ID` forgets one."
    needs = "servers"

    def add_arguments(self, parser: CommandParser) -> None:
        super().add_arguments(parser)
        add_workspace(parser)
        commands = parser.add_subparsers(dest="what", metavar="retry | delete")
        for act, meaning in (
            ("retry", "ask for a job that reads a file again"),
            ("delete", "forget an upload with its bytes"),
        ):
            add_subcommand(commands, act, meaning).add_argument(
                "entry_id", metavar="ID", type=int, help="as listed"
            )

    def run_command(self, *, what: str | None, workspace: str | None, **options: Any) -> None:
        scope = self.act_in(find_workspace(workspace))
        if what is not None:
            entry = _find_entry(scope, options["entry_id"])
            {"retry": self._retry, "delete": self._delete}[what](command_line_access(scope), entry)
            return
        rows = [_row(entry) for entry in unreadable_files(scope).order_by("-at", "id")]
        if self.as_json:
            self.print_json({"schema_version": "quarantine.v1", "files": rows})
        else:
            self.console.print(table(_COLUMNS, rows))

    def _retry(self, access: Access, entry: Unreadable) -> None:
        job = retry_unreadable(access, entry)
        message = f"Job {job.pk} reads {entry.path} again; see: kebab inspect job {job.pk}"
        self.answer({"schema_version": "quarantine_retry.v1", "job": str(job.pk)}, message)

    def _delete(self, access: Access, entry: Unreadable) -> None:
        delete_unreadable(access, entry)
        facts = {"schema_version": "quarantine_delete.v1", "id": entry.pk, "path": entry.path}
        self.answer(facts, f"{entry.path} of {entry.version.source.key} is forgotten.")


def _find_entry(workspace: Workspace, entry_id: int) -> Unreadable:
    entry: Unreadable | None = unreadable_files(workspace).filter(pk=entry_id).first()
    if entry is None:
        raise CliError(
            f"There is no unreadable file {entry_id} in {workspace.slug}; see: kebab quarantine",
            code="not_found",
            exit_code=Exit.NOTHING,
        )
    return entry


def _row(entry: Unreadable) -> dict[str, Any]:
    return {
        "id": entry.pk,
        "source": entry.version.source.key,
        "version": entry.version.tag,
        "path": entry.path,
        "size_bytes": entry.size_bytes,
        "content_hash": entry.content_hash,
        "parser_version": entry.parser_version,
        "at": entry.at,
        "state": entry.state,
        "code": entry.reason,
        "reason": entry.detail,
        "advice": explanations([entry.reason]).get(entry.reason, ""),
    }
