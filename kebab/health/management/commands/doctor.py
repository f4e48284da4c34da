"""`kebab doctor`."""

from dataclasses import asdict
from typing import Any

from django.core.management.base import CommandParser

from kebab.cli.console import plain
from kebab.cli.errors import Exit
from kebab.cli.verb import BaseVerb
from kebab.health.checks import CheckResult, CheckStatus, run_checks

_STYLES = {
    CheckStatus.OK: "green",
    CheckStatus.WARNING: "yellow",
    CheckStatus.FAILED: "red",
    CheckStatus.REPAIRED: "cyan",
}


class Command(BaseVerb):
    help = "Check servers, versions and indexes; with --repair rebuild what can be rebuilt."
    needs = "servers"

    def add_arguments(self, parser: CommandParser) -> None:
        super().add_arguments(parser)
        parser.add_argument("--repair", action="store_true", help="rebuild what can be rebuilt from Postgres")

    def run_verb(self, *, repair: bool, **_: Any) -> int:
        results = []
        for result in run_checks(repair=repair):
            results.append(result)
            if not self.as_json:
                self._show(result)
        is_healthy = all(result.status is not CheckStatus.FAILED for result in results)
        if self.as_json:
            found = [asdict(result) for result in results]
            self.print_json({"schema_version": "doctor.v1", "healthy": is_healthy, "checks": found})
        return Exit.DONE if is_healthy else Exit.UNHEALTHY

    def _show(self, result: CheckResult) -> None:
        self.console.print(f"{result.status:<9}", style=_STYLES[result.status], end="")
        self.console.print(plain(f"{result.name}: {result.detail}"))
        if result.remedy:
            self.console.print(plain(f"         {result.remedy}"))
