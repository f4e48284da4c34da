"""`kebab restore`: the state of a backup."""

from argparse import SUPPRESS
from typing import Any

from django.conf import settings
from django.core.management.base import CommandParser

from kebab.cli.command import KebabCommand, path_argument
from kebab.cli.errors import CliError
from kebab.exit_codes import Exit
from kebab.stack.configuration import StackConfiguration


class Command(KebabCommand):
    """Fills KEBAB_DATA_DIR, which must have no data yet; `kebab up` then rebuilds the mirrors.

    Beside a database of another server, which that has restored, it copies the missing bytes only.
    """

    help = "Restore a backup: the embedded database, and the bytes that the restored documents need."

    def add_arguments(self, parser: CommandParser) -> None:
        """Add the backup folder and the name of a backup."""
        super().add_arguments(parser)
        parser.add_argument("folder", type=path_argument, help="where the backups lie")
        parser.add_argument("--backup", default="", help="a backup's name (default: the latest)")
        # Those of the former archive of the log.
        parser.add_argument("--to", "--archive", "--timeline", dest="archived", help=SUPPRESS)

    def run_command(self, **options: Any) -> int:
        """Restore, and print the restored state."""
        from kebab.backup.manifest import BackupMissing
        from kebab.backup.restore import restore

        if options["archived"] is not None:
            raise CliError(
                "Kebab archives no log any more and restores the end of a backup only; for other moments"
                " use pgBackRest (docs/operations/backup.md). Version 0.3.0 restores from its archives."
            )
        folder = options["folder"].resolve()
        try:
            result = restore(
                folder, StackConfiguration.from_settings(), options["backup"], self.remarks.print
            )
        except BackupMissing as error:
            raise CliError(str(error), code=error.code, exit_code=Exit.NOTHING) from error
        facts = {
            "schema_version": "restore.v1",
            "data_dir": str(settings.KEBAB_DATA_DIR),
            "backup": result.backup.path.name,
            "reached": result.backup.manifest.ended_at if settings.KEBAB_EMBEDDED_POSTGRES else None,
            "blobs": result.blobs.blobs,
            "missing_blobs": result.blobs.missing,
            "damaged_blobs": result.blobs.damaged,
        }
        return self.answer(facts, _format_summary(facts))


def _format_summary(facts: dict[str, Any]) -> str:
    lost = len(facts["missing_blobs"]) + len(facts["damaged_blobs"])
    state = f"{facts['data_dir']} is as it was at {facts['reached']}, with" if facts["reached"] else "Copied"
    with_blobs = f"{state} the bytes of {facts['blobs']} blobs"
    return (
        f"{with_blobs}; {lost} are missing (kebab doctor names the documents)." if lost else f"{with_blobs}."
    )
