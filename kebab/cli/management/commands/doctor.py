"""`kebab doctor`."""

from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, nullcontext
from dataclasses import asdict
from typing import Any

from django.core.management.base import CommandParser
from rich.status import Status

from kebab.cli.command import KebabCommand
from kebab.cli.output import plain
from kebab.exit_codes import Exit
from kebab.health.checks import CheckResult, CheckStatus, failed_result, run_checks
from kebab.stack.errors import StackError
from kebab.stack.supervisor.plan import Roles

_STYLES = {
    CheckStatus.OK: "green",
    CheckStatus.WARNING: "yellow",
    CheckStatus.FAILED: "red",
    CheckStatus.REPAIRED: "cyan",
}


class Command(KebabCommand):
    help = "Check servers, processes, data and indexes; with --repair rebuild what can be rebuilt."
    needs = Roles.SERVERS

    def add_arguments(self, parser: CommandParser) -> None:
        super().add_arguments(parser)
        parser.add_argument("--repair", action="store_true", help="rebuild what can be rebuilt from Postgres")
        parser.add_argument("--deep", action="store_true", help="read all that is else looked at in samples")

    def run_command(self, *, repair: bool, deep: bool, **_: Any) -> int:
        results = []
        for result in self._results(repair=repair, deep=deep):
            results.append(result)
            if not self.as_json:
                self._print_result(result)
        is_healthy = all(result.status is not CheckStatus.FAILED for result in results)
        if self.as_json:
            found = [asdict(result) for result in results]
            self.print_json({"schema_version": "doctor.v1", "healthy": is_healthy, "checks": found})
        return Exit.DONE if is_healthy else Exit.UNHEALTHY

    def _borrow_stack(self) -> AbstractContextManager[None]:
        """Return a context without servers: servers that don't start are a failed check."""
        return nullcontext()

    def _results(self, *, repair: bool, deep: bool) -> Iterator[CheckResult]:
        """Run the checks; on a terminal a status line shows the current one between results."""
        try:
            with super()._borrow_stack(), self.remarks.status("Checking ...") as progress:
                for result in run_checks(repair=repair, deep=deep, on_progress=_progress_callback(progress)):
                    progress.stop()
                    yield result
                    progress.start()
        except StackError as error:
            yield failed_result("servers", str(error), "Nothing else can be checked without them.")

    def _print_result(self, result: CheckResult) -> None:
        self.console.print(f"{result.status:<9}", style=_STYLES[result.status], end="")
        self.console.print(plain(f"{result.name}: {result.detail}"))
        if result.remedy:
            self.console.print(plain(f"         {result.remedy}"))


def _progress_callback(progress: Status) -> Callable[[str, int], None]:
    def report(name: str, n_checked: int) -> None:
        progress.update(f"Checking {name}{f' ({n_checked:,} so far)' if n_checked else ''} ...")

    return report
