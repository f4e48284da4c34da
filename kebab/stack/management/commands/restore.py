"""`kebab restore`: a data directory out of a backup."""

from argparse import ArgumentTypeError
from datetime import UTC, datetime
from typing import Any

from django.conf import settings
from django.core.management.base import CommandParser

from kebab.cli.command import BaseVerb
from kebab.cli.errors import CliError, Exit
from kebab.cli.parser import given_path
from kebab.stack.configuration import StackConfiguration

_LATEST = "latest"


class Command(BaseVerb):
    """Fills KEBAB_DATA_DIR, in which there is no data yet; `kebab up` then makes the mirrors anew."""

    help = "Make the data directory again from a backup, as it was then or at a later moment."

    def add_arguments(self, parser: CommandParser) -> None:
        """From where, and to when."""
        super().add_arguments(parser)
        parser.add_argument("folder", type=given_path, help="where the backups lie")
        parser.add_argument("--to", default="", help="a moment (2026-11-22T10:00:00Z), or: latest")
        parser.add_argument(
            "--backup", default="", help="a backup's name (default: the latest that leads there)"
        )
        parser.add_argument(
            "--timeline",
            type=_timeline,
            default="current",
            help="of several branches: current (the backup's own, default), latest, or a number",
        )
        parser.add_argument(
            "--archive", type=given_path, help="what KEBAB_WAL_ARCHIVE was (default: as the backup says)"
        )

    def run_verb(self, **options: Any) -> int:
        """Restore, and say what was come back to."""
        from kebab.backup.errors import BackupMissing, RestoreRefused
        from kebab.backup.layout import Wanted
        from kebab.backup.restore import restore

        if not settings.KEBAB_EMBEDDED_POSTGRES:
            raise CliError(
                "DATABASE_URL names a Postgres of your own; its way is in docs/operations/backup.md."
            )
        wanted = Wanted(
            backup=options["backup"],
            to=_moment(options["to"]),
            is_latest=options["to"] == _LATEST,
            timeline=options["timeline"],
            archive=options["archive"].resolve() if options["archive"] else None,
        )
        folder = options["folder"].resolve()
        try:
            done = restore(folder, StackConfiguration.from_settings(), wanted, self.remarks.print)
        except (BackupMissing, RestoreRefused) as error:
            raise CliError(str(error), code=error.code, exit_code=Exit.NOTHING) from error
        facts = {
            "schema_version": "restore.v1",
            "data_dir": str(settings.KEBAB_DATA_DIR),
            "backup": done.backup.path.name,
            "reached": done.reached,
            "blobs": done.blobs.blobs,
            "missing_blobs": done.blobs.missing,
            "damaged_blobs": done.blobs.damaged,
        }
        return self.answer(facts, _told(facts))


def _timeline(text: str) -> str:
    if text not in {"current", "latest"} and not text.isdecimal():
        raise ArgumentTypeError(f"{text!r} is not current, latest or a number")
    return text


def _moment(text: str) -> datetime | None:
    """Return the moment; one without a zone is UTC. Raises CliError."""
    if text in {"", _LATEST}:
        return None
    try:
        moment = datetime.fromisoformat(text)
    except ValueError as error:
        raise CliError(f"--to is {text!r}; give a moment such as 2026-11-22T10:00:00Z, or: latest") from error
    return moment if moment.tzinfo is not None else moment.replace(tzinfo=UTC)


def _told(facts: dict[str, Any]) -> str:
    told = f"{facts['data_dir']} is as it was after its last write at {facts['reached'] or 'the backup'}"
    lost = len(facts["missing_blobs"]) + len(facts["damaged_blobs"])
    with_blobs = f"{told}, with the bytes of {facts['blobs']} blobs"
    return (
        f"{with_blobs}; {lost} are missing (kebab doctor names the documents)." if lost else f"{with_blobs}."
    )
