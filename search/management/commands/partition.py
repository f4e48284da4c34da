"""The command `kebab partition`: partitioning of the large tables by workspace."""

import time
from argparse import ArgumentTypeError
from dataclasses import asdict
from typing import Any

from django.core.management.base import CommandParser

from kebab.cli.command import KebabCommand
from kebab.cli.errors import CliError
from kebab.cli.output import table
from kebab.cli.progress_bars import Bar, bar
from kebab.people import audit
from kebab.stack.supervisor.plan import Roles
from kebab.tenancy.partitions.definition import TablesBusy
from kebab.tenancy.roles import NotTheOwner
from search.corpus.partitions import (
    MOST_PARTS,
    CannotPartition,
    partition_tables,
    required_disk_bytes,
    table_sizes,
)

_MB = 1_000_000


def _parts(text: str) -> int:
    parts = int(text)
    if parts == 1 or not 0 <= parts <= MOST_PARTS:
        raise ArgumentTypeError(f"{text} is not 0, for whole tables, or 2 to {MOST_PARTS}")
    return parts


class Command(KebabCommand):
    help = "Show how the large tables are cut by workspace; --parts cuts them while searches go on."
    needs = Roles.SERVERS

    def add_arguments(self, parser: CommandParser) -> None:
        super().add_arguments(parser)
        parser.add_argument(
            "--parts", type=_parts, metavar="N", help="cut them into so many parts; 0 makes them whole again"
        )
        parser.add_argument(
            "--memory-mb", type=int, default=512, metavar="M", help="for building indexes (512)"
        )

    def run_command(self, *, parts: int | None, memory_mb: int, **options: Any) -> None:
        done = None if parts is None else self._partition(parts, memory_mb)
        rows = [asdict(each) for each in table_sizes()]
        if self.as_json:
            self.print_json({"schema_version": "partition.v1", "tables": rows, **(done or {})})
            return
        if done is not None and not done["changed"]:
            self.console.print("Nothing to do: the tables are cut like that.")
        self.console.print(table(list(rows[0]), rows))

    def _partition(self, parts: int, memory_mb: int) -> dict[str, Any]:
        sizes = table_sizes()
        total = sum(each.size_bytes for each in sizes)
        self.remarks.print(
            f"{total / _MB:,.0f} MB in {len(sizes)} tables; up to {required_disk_bytes(sizes) / _MB:,.0f} MB"
            " more on the database's disk until it is done. Searches go on; jobs wait, other writes are"
            " answered `busy`."
        )
        started = time.perf_counter()
        try:
            with bar(self.remarks, "Partitioning") as shown:
                changed = partition_tables(
                    parts, memory_bytes=memory_mb * 2**20, progress=_CopyProgress(shown, total)
                )
                shown.finish()
        except (CannotPartition, TablesBusy) as error:
            raise CliError(str(error), code="cannot_partition") from error
        except NotTheOwner as error:
            raise CliError(f"Set KEBAB_OWNER_DATABASE_URL: {error}", code="not_the_owner") from error
        if changed:
            audit.record_person(audit.operator_actor(), "tables.partitioned", str(parts))
        return {"changed": changed, "seconds": round(time.perf_counter() - started, 3)}


class _CopyProgress:
    """Progress callback: bytes of rows copied, out of the tables' size, which includes their indexes."""

    def __init__(self, shown: Bar, total: int) -> None:
        self._bar, self._total, self._done = shown, total, 0

    def __call__(self, words: str, more: int) -> None:
        self._done += more
        self._bar.show(self._done, self._total, at=words)
