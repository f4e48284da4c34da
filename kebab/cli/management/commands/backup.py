"""`kebab backup`: a copy of what Kebab keeps, while it is in use."""

from dataclasses import asdict
from typing import Any

from django.core.management.base import CommandParser

from kebab.cli.command import KebabCommand, path_argument
from kebab.cli.errors import CliError
from kebab.stack.configuration import StackConfiguration
from kebab.stack.supervisor.plan import Roles


class Command(KebabCommand):
    """Copies documents' bytes, settings, secrets and the embedded database; the rest is rebuilt from them."""

    help = "Copy documents' bytes, settings, secrets and the embedded database, while all goes on."
    needs = Roles.SERVERS

    def add_arguments(self, parser: CommandParser) -> None:
        """Add the folder and the number of backups to retain."""
        super().add_arguments(parser)
        parser.add_argument(
            "folder", type=path_argument, help="where backups lie; each shares the bytes with those before it"
        )
        parser.add_argument(
            "--keep", type=int, metavar="N", help="remove all but the latest N backups after it"
        )

    def run_command(self, **options: Any) -> int:
        """Create the backup, then delete old ones."""
        from kebab.backup.backup import back_up

        if options["keep"] is not None and options["keep"] < 1:
            raise CliError(f"--keep is {options['keep']}; give a whole number from 1 on.")
        folder = options["folder"].resolve()
        result = back_up(folder, StackConfiguration.from_settings(), self.remarks.print, keep=options["keep"])
        facts = {
            **asdict(result.backup.manifest),
            "path": str(result.backup.path),
            "copied_blobs": result.copied.blobs,
            "copied_bytes": result.copied.size_bytes,
            "missing_blobs": result.copied.missing,
            "removed": result.removed,
        }
        return self.answer(facts, _format_summary(facts))


def _format_summary(facts: dict[str, Any]) -> str:
    database = "the database" if facts["base_hash"] else "no database (your server's own backup has that)"
    summary = (
        f"{facts['path']} leads to {facts['ended_at']}: {database} and {facts['blobs']} blobs,"
        f" {facts['copied_blobs']} of them copied now ({facts['copied_bytes'] / 1e6:.1f} MB)."
    )
    return f"{summary} Removed: {', '.join(facts['removed'])}." if facts["removed"] else summary
