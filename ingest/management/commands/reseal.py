"""`kebab reseal`: stored credentials under another key."""

from dataclasses import asdict
from typing import Any

from ingest.connectors.git.credentials import seal_again
from kebab.cli.command import BaseVerb
from kebab.cli.errors import Exit


class Command(BaseVerb):
    """`kebab init` does the same; this one says whether the earlier keys may go (exit 3: not yet)."""

    help = "Seal stored credentials under the first of KEBAB_ENCRYPTION_KEYS, and say what no key opens."
    needs = "servers"

    def run_verb(self, **options: Any) -> int:
        done = seal_again()
        if self.as_json:
            self.print_json({"schema_version": "reseal.v1", **asdict(done)})
        else:
            self.console.print(
                f"{done.changed} sealed anew, {done.unchanged} were under the first key already,"
                f" {len(done.unopened)} can't be opened."
            )
            for source in done.unopened:
                self.console.print(
                    f"Source {source}: add the key that it was sealed under, or give its credentials anew."
                )
        return Exit.UNHEALTHY if done.unopened else Exit.DONE
