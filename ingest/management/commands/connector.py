"""`kebab connector check`: run a connector program, and check what it prints."""

import json
from collections import Counter
from contextlib import closing
from typing import Any

from django.core.management.base import CommandParser

from ingest.connectors.errors import ListingFailed
from ingest.connectors.records.kinds import PROGRAM_LIMITS, PROGRAM_READER, parse_options
from ingest.connectors.records.limited_reader import LimitedReader, Opening
from ingest.connectors.records.wire import CursorRecord, DocumentRecord
from ingest.errors import AddressNotAllowed
from kebab.cli.command import KebabCommand, add_subcommand
from kebab.cli.errors import CliError
from kebab.exit_codes import Exit

_NAMES = ("DocumentRecord", "DeletedRecord", "CursorRecord", "CompleteRecord", "WarningRecord")


class Command(KebabCommand):
    """Run a program in the sandbox; exit code 2 if it does not keep to the protocol kebab.connector.v1."""

    help = "Run a connector program, and check what it prints."

    def add_arguments(self, parser: CommandParser) -> None:
        super().add_arguments(parser)
        actions = parser.add_subparsers(dest="what", required=True, metavar="check")
        check = add_subcommand(actions, "check", "run it twice, from the start and from its last cursor")
        check.add_argument("--option", action="append", default=[], metavar="NAME=VALUE", help="its config")
        check.add_argument("--token", default="", help="its credentials")
        check.add_argument("command", nargs="+", help="the program; its own options after --")

    def run_command(self, **options: Any) -> int:
        command = options["command"]
        try:
            opening = Opening(
                reader=PROGRAM_READER,
                limits=PROGRAM_LIMITS,
                config={"command": command, "options": parse_options(options["option"])},
                credentials={"token": options["token"]} if options["token"] else {},
            )
            with closing(LimitedReader(opening, lambda: None)) as reader:
                first = self._run(reader, "")
                second = self._run(reader, first["cursor"]) if first["cursor"] else None
        except (AddressNotAllowed, ListingFailed) as error:
            raise CliError(str(error)) from error
        if self.as_json:
            self.print_json({"schema_version": "connector_check.v1", "first": first, "second": second})
            return Exit.DONE
        self._print("From the start", first)
        if second is not None:
            self._print("From its cursor", second)
        return Exit.DONE

    def _run(self, reader: LimitedReader, cursor: str) -> dict[str, Any]:
        counts: Counter[str] = Counter()
        last = ""
        paths: list[str] = []
        for record in reader.records(cursor):
            counts[type(record).__name__] += 1
            last = record.state if isinstance(record, CursorRecord) else last
            if isinstance(record, DocumentRecord) and len(paths) < 5:
                paths.append(record.path)
        return {
            "records": {name.removesuffix("Record").lower(): counts[name] for name in _NAMES},
            "cursor": last,
            "paths": paths,
        }

    def _print(self, title: str, run: dict[str, Any]) -> None:
        found = ", ".join(f"{count} {name}" for name, count in run["records"].items() if count)
        self.console.print(f"{title}: {found or 'nothing'}. {', '.join(run['paths'])}", markup=False)
        if run["cursor"]:
            self.console.print(f"  cursor {json.dumps(run['cursor'])}", markup=False)
