"""`kebab backup`: a whole copy of the embedded stack while it is used."""

from dataclasses import asdict
from typing import Any

from django.conf import settings
from django.core.management.base import CommandParser

from kebab.cli.command import BaseVerb
from kebab.cli.errors import CliError
from kebab.cli.parser import given_path
from kebab.stack.configuration import StackConfiguration


class Command(BaseVerb):
    """Copies database, documents' bytes and secrets; mirrors, indexes and queues are made again from them."""

    help = "Copy database, documents' bytes and secrets into a folder, while all goes on."
    needs = "servers"

    def add_arguments(self, parser: CommandParser) -> None:
        """Return where to, and how many to keep."""
        super().add_arguments(parser)
        parser.add_argument(
            "folder", type=given_path, help="where backups lie; each shares the bytes with those before it"
        )
        parser.add_argument(
            "--keep", type=int, metavar="N", help="remove all but the latest N backups after it"
        )

    def run_verb(self, **options: Any) -> int:
        """Make the backup, then remove old ones."""
        from kebab.backup.backup import back_up

        if not settings.KEBAB_EMBEDDED_POSTGRES:
            raise CliError(
                "DATABASE_URL names a Postgres of your own; its way is in docs/operations/backup.md."
            )
        if options["keep"] is not None and options["keep"] < 1:
            raise CliError(f"--keep is {options['keep']}; give a whole number from 1 on.")
        folder = options["folder"].resolve()
        made = back_up(folder, StackConfiguration.from_settings(), self.remarks.print, keep=options["keep"])
        facts = {
            **asdict(made.backup.manifest),
            "path": str(made.backup.path),
            "copied_blobs": made.copied.blobs,
            "copied_bytes": made.copied.size_bytes,
            "missing_blobs": made.copied.missing,
            "removed": made.removed,
        }
        return self.answer(facts, _told(facts))


def _told(facts: dict[str, Any]) -> str:
    told = (
        f"{facts['path']} leads to {facts['ended_at']}: the database and {facts['blobs']} blobs,"
        f" {facts['copied_blobs']} of them copied now ({facts['copied_bytes'] / 1e6:.1f} MB)."
    )
    return f"{told} Removed: {', '.join(facts['removed'])}." if facts["removed"] else told
