"""The command `kebab export FILE`."""

from pathlib import Path
from typing import Any

from django.core.management.base import CommandParser

from kebab.cli.command import KebabCommand, add_workspace, path_argument
from kebab.cli.lookup import find_workspace
from kebab.cli.progress_bars import stages
from kebab.exit_codes import Exit
from kebab.people import audit
from kebab.people.operator import command_line_access
from kebab.people.workspace_access import dump_access
from kebab.stack.supervisor.plan import Roles
from search.bundles.export import export_bundle, open_draft
from search.bundles.format.manifest import Manifest, manifest_digest


class Command(KebabCommand):
    help = (
        "Write a workspace into one file: documents, chunks, vectors, settings, judgements. It holds all that"
        " the sources hold, restricted ones included; members, tokens and credentials are not in it. kebab"
        " import makes a workspace of it."
    )
    needs = Roles.SERVERS

    def add_arguments(self, parser: CommandParser) -> None:
        super().add_arguments(parser)
        parser.add_argument("file", type=path_argument, metavar="FILE", help="where to write it")
        add_workspace(parser)
        parser.add_argument("--force", action="store_true", help="replace FILE if it is there")
        parser.add_argument(
            "--access", type=path_argument, metavar="FILE", help="write members and tokens there"
        )

    def run_command(self, *, file: Path, workspace: str | None, force: bool, **options: Any) -> int:
        found = self.act_in(find_workspace(workspace))
        if options["access"] is not None:
            with open_draft(options["access"], replaces=force) as draft:
                draft.write_text(dump_access(found))
        with stages(self.remarks) as show:
            manifest = export_bundle(found, file, replaces=force, on_progress=show)
        size_bytes = file.stat().st_size
        facts = {"documents": manifest.documents, "digest": manifest_digest(manifest)}
        audit.record(command_line_access(found), "workspace.exported", found.slug, **facts)
        return self._report(manifest, file, size_bytes)

    def _report(self, manifest: Manifest, target: Path, size_bytes: int) -> int:
        if manifest.blobs_missing:
            self.remarks.print(f"The bytes of {manifest.blobs_missing} documents are not kept any more.")
        facts = {
            "schema_version": "bundle_export.v1",
            "file": str(target),
            "size_bytes": size_bytes,
            "workspace": manifest.slug,
            "seq": manifest.seq,
            "documents": manifest.documents,
            "chunks": manifest.chunks,
            "vectors": manifest.vectors,
            "blobs_missing": manifest.blobs_missing,
            "made_at": manifest.made_at.isoformat(),
            "digest": manifest_digest(manifest),
        }
        self.answer(
            facts,
            f"Wrote {manifest.documents:,} documents, {manifest.chunks:,} chunks and"
            f" {manifest.vectors:,} vectors to {target} ({size_bytes / 2**20:,.1f} MiB).",
        )
        return Exit.DONE
