"""`kebab doctor`."""

from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, nullcontext
from dataclasses import asdict
from typing import Any

from django.core.management.base import CommandParser
from rich.status import Status

from kebab.cli.command import BaseVerb
from kebab.cli.errors import Exit
from kebab.cli.output import plain
from kebab.observability.health.checks import CheckResult, CheckStatus, failed, run_checks
from kebab.stack.errors import StackError

_STYLES = {
    CheckStatus.OK: "green",
    CheckStatus.WARNING: "yellow",
    CheckStatus.FAILED: "red",
    CheckStatus.REPAIRED: "cyan",
}


class Command(BaseVerb):
    help = "Check servers, processes, data and indexes; with --repair rebuild what can be rebuilt."
    needs = "servers"

    def add_arguments(self, parser: CommandParser) -> None:
        super().add_arguments(parser)
        parser.add_argument("--repair", action="store_true", help="rebuild what can be rebuilt from Postgres")
        parser.add_argument("--deep", action="store_true", help="read all that is else looked at in samples")

    def run_verb(self, *, repair: bool, deep: bool, **_: Any) -> int:
        results = []
        for result in self._results(repair=repair, deep=deep):
            results.append(result)
            if not self.as_json:
                self._show(result)
        is_healthy = all(result.status is not CheckStatus.FAILED for result in results)
        if self.as_json:
            found = [asdict(result) for result in results]
            self.print_json({"schema_version": "doctor.v1", "healthy": is_healthy, "checks": found})
        return Exit.DONE if is_healthy else Exit.UNHEALTHY

    def _stack(self) -> AbstractContextManager[None]:
        """Begin without servers: those that don't come up are a finding."""
        return nullcontext()

    def _results(self, *, repair: bool, deep: bool) -> Iterator[CheckResult]:
        """Run the checks; on a terminal a line says which is at it, while nothing else is written."""
        try:
            with super()._stack(), self.remarks.status("Checking ...") as progress:
                for result in run_checks(repair=repair, deep=deep, on_look=_saying(progress)):
                    progress.stop()
                    yield result
                    progress.start()
        except StackError as error:
            yield failed("servers", str(error), "Nothing else can be checked without them.")

    def _show(self, result: CheckResult) -> None:
        self.console.print(f"{result.status:<9}", style=_STYLES[result.status], end="")
        self.console.print(plain(f"{result.name}: {result.detail}"))
        if result.remedy:
            self.console.print(plain(f"         {result.remedy}"))


def _saying(progress: Status) -> Callable[[str, int], None]:
    def say(name: str, looked_at: int) -> None:
        progress.update(f"Checking {name}{f' ({looked_at:,} so far)' if looked_at else ''} ...")

    return say
