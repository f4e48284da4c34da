"""The command `kebab import FILE --workspace NEW`."""

from pathlib import Path
from typing import Any

from django.core.management.base import CommandParser

from kebab.cli.command import KebabCommand, path_argument
from kebab.cli.lookup import find_user
from kebab.cli.progress_bars import stages
from kebab.exit_codes import Exit
from kebab.people.operator import first_operator
from kebab.people.workspace_access import read_access
from kebab.stack.supervisor.plan import Roles
from search.bundles.importer.importer import ImportRequest, ImportResult, import_bundle

_ACCESS = "what kebab export --access wrote: its members and tokens, and its id"
_NOT_IMPORTED = (
    "Not imported: members and tokens unless by --access; personal tokens, invitations, webhooks, bookmarks,"
    " saved searches, answers, feedback, logs, quotas, schedules, credentials of sources (docs/bundles.md)."
)


class Command(KebabCommand):
    help = (
        "Make a new workspace of a file that kebab export wrote. Nothing is parsed or embedded again, and"
        " nothing of it is there before all of it is; an import that was killed is begun anew."
    )
    needs = Roles.SERVERS

    def add_arguments(self, parser: CommandParser) -> None:
        super().add_arguments(parser)
        parser.add_argument("file", type=path_argument, metavar="FILE", help="what kebab export wrote")
        parser.add_argument(
            "--workspace", "-w", metavar="NEW", required=True, help="the new workspace's slug"
        )
        parser.add_argument("--name", default="", metavar="N", help="what people call it (as before)")
        parser.add_argument(
            "--owner",
            metavar="EMAIL",
            help="the user who owns it (the operator's account, the oldest of several)",
        )
        parser.add_argument("--access", type=path_argument, metavar="FILE", help=_ACCESS)

    def run_command(self, *, file: Path, workspace: str, name: str, owner: str | None, **options: Any) -> int:
        access = options["access"] and read_access(options["access"])
        request = ImportRequest(
            file=file,
            slug=workspace,
            name=name,
            owner=find_user(owner) if owner else None if access else first_operator(),
            access=access,
        )
        with stages(self.remarks) as show:
            imported = import_bundle(request, show)
        return self._report(imported)

    def _report(self, imported: ImportResult) -> int:
        for remark in _remarks(imported):
            self.remarks.print(remark)
        manifest, workspace = imported.manifest, imported.workspace
        facts = {
            "schema_version": "bundle_import.v1",
            "id": str(workspace.pk),
            "workspace": workspace.slug,
            "name": workspace.name,
            "seq": workspace.head_seq,
            "documents": manifest.documents,
            "chunks": manifest.chunks,
            "vectors": manifest.vectors,
            "detached_sources": list(imported.detached),
            "dropped_settings": list(imported.dropped_settings),
        }
        self.answer(
            facts,
            f"Workspace {workspace.slug} has {manifest.documents:,} documents, {manifest.chunks:,} chunks and"
            f" {manifest.vectors:,} vectors.",
        )
        return Exit.DONE


def _remarks(imported: ImportResult) -> list[str]:
    remarks = [_NOT_IMPORTED]
    if imported.was_finished:
        remarks.append("An import that was broken off had brought in all of it; the rest is made now.")
    if imported.detached:
        keys = ", ".join(imported.detached)
        remarks.append(
            "KEBAB_FOLDER_ROOTS does not allow what these sources read, or the bundle lacks their addresses,"
            f" which may be secrets; they are uploads now: {keys}."
        )
    if imported.dropped_settings:
        remarks.append(f"These settings mean nothing here: {', '.join(imported.dropped_settings)}.")
    if imported.manifest.blobs_missing:
        remarks.append(f"The bytes of {imported.manifest.blobs_missing} documents are not in it.")
    return remarks
