"""`kebab reseal`: encrypt stored credentials again under another key."""

from dataclasses import asdict
from typing import Any

from ingest.connectors.git.credentials import rotate_credentials
from kebab.cli.command import KebabCommand
from kebab.cli.errors import Exit


class Command(KebabCommand):
    """Like `kebab init`, but reports whether the earlier keys may be removed (exit 3: not yet)."""

    help = "Seal stored credentials under the first of KEBAB_ENCRYPTION_KEYS, and say what no key opens."
    needs = "servers"

    def run_command(self, **options: Any) -> int:
        result = rotate_credentials()
        if self.as_json:
            self.print_json({"schema_version": "reseal.v1", **asdict(result)})
        else:
            self.console.print(
                f"{result.changed} sealed anew, {result.unchanged} were under the first key already,"
                f" {len(result.unopened)} can't be opened."
            )
            for source in result.unopened:
                self.console.print(
                    f"Source {source}: add the key that it was sealed under, or give its credentials anew."
                )
        return Exit.UNHEALTHY if result.unopened else Exit.DONE
