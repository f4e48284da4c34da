"""`kebab restore`: a data directory restored from a backup."""

from argparse import ArgumentTypeError
from datetime import UTC, datetime
from typing import Any

from django.conf import settings
from django.core.management.base import CommandParser

from kebab.cli.command import KebabCommand, path_argument
from kebab.cli.errors import CliError
from kebab.exit_codes import Exit
from kebab.stack.configuration import StackConfiguration

_LATEST = "latest"


class Command(KebabCommand):
    """Fills KEBAB_DATA_DIR, which must have no data yet; `kebab up` then rebuilds the mirrors."""

    help = "Make the data directory again from a backup, as it was then or at a later moment."

    def add_arguments(self, parser: CommandParser) -> None:
        """Add the backup folder and the target of the restore."""
        super().add_arguments(parser)
        parser.add_argument("folder", type=path_argument, help="where the backups lie")
        parser.add_argument("--to", default="", help="a moment (2026-11-22T10:00:00Z), or: latest")
        parser.add_argument(
            "--backup", default="", help="a backup's name (default: the latest that leads there)"
        )
        parser.add_argument(
            "--timeline",
            type=_parse_timeline,
            default="current",
            help="of several branches: current (the backup's own, default), latest, or a number",
        )
        parser.add_argument(
            "--archive", type=path_argument, help="what KEBAB_WAL_ARCHIVE was (default: as the backup says)"
        )

    def run_command(self, **options: Any) -> int:
        """Restore, and print the restored state."""
        from kebab.backup.manifest import BackupMissing, RestoreTarget
        from kebab.backup.restore import restore

        if not settings.KEBAB_EMBEDDED_POSTGRES:
            raise CliError(
                "DATABASE_URL names a Postgres of your own; its way is in docs/operations/backup.md."
            )
        target = RestoreTarget(
            backup=options["backup"],
            to=_parse_moment(options["to"]),
            is_latest=options["to"] == _LATEST,
            timeline=options["timeline"],
            archive=options["archive"].resolve() if options["archive"] else None,
        )
        folder = options["folder"].resolve()
        try:
            result = restore(folder, StackConfiguration.from_settings(), target, self.remarks.print)
        except BackupMissing as error:
            raise CliError(str(error), code=error.code, exit_code=Exit.NOTHING) from error
        facts = {
            "schema_version": "restore.v1",
            "data_dir": str(settings.KEBAB_DATA_DIR),
            "backup": result.backup.path.name,
            "reached": result.reached,
            "blobs": result.blobs.blobs,
            "missing_blobs": result.blobs.missing,
            "damaged_blobs": result.blobs.damaged,
        }
        return self.answer(facts, _format_summary(facts))


def _parse_timeline(text: str) -> str:
    if text not in {"current", "latest"} and not text.isdecimal():
        raise ArgumentTypeError(f"{text!r} is not current, latest or a number")
    return text


def _parse_moment(text: str) -> datetime | None:
    """Parse the value of `--to`, UTC without a zone; None for the latest or no value. Raises CliError."""
    if text in {"", _LATEST}:
        return None
    try:
        moment = datetime.fromisoformat(text)
    except ValueError as error:
        raise CliError(f"--to is {text!r}; give a moment such as 2026-11-22T10:00:00Z, or: latest") from error
    return moment if moment.tzinfo is not None else moment.replace(tzinfo=UTC)


def _format_summary(facts: dict[str, Any]) -> str:
    summary = f"{facts['data_dir']} is as it was after its last write at {facts['reached'] or 'the backup'}"
    lost = len(facts["missing_blobs"]) + len(facts["damaged_blobs"])
    with_blobs = f"{summary}, with the bytes of {facts['blobs']} blobs"
    return (
        f"{with_blobs}; {lost} are missing (kebab doctor names the documents)." if lost else f"{with_blobs}."
    )
