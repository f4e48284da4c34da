"""`kebab reseal`: encrypt stored credentials again under another key."""

from dataclasses import asdict
from typing import Any

from ingest.connectors.git.credentials import rotate_credentials
from kebab.cli.command import KebabCommand
from kebab.encryption import RotationResult
from kebab.exit_codes import Exit
from kebab.stack.supervisor.plan import Roles
from kebab.webhooks.endpoints import rotate_secrets


class Command(KebabCommand):
    """Like `kebab init`, but reports whether the earlier keys may be removed (exit 3: not yet)."""

    help = "Seal stored credentials under the first of KEBAB_ENCRYPTION_KEYS, and say what no key opens."
    needs = Roles.SERVERS

    def run_command(self, **options: Any) -> int:
        sources, webhooks = rotate_credentials(), rotate_secrets()
        result = RotationResult(
            changed=sources.changed + webhooks.changed,
            unchanged=sources.unchanged + webhooks.unchanged,
            unopened=sources.unopened + webhooks.unopened,
        )
        if self.as_json:
            self.print_json({"schema_version": "reseal.v1", **asdict(result)})
        else:
            self.console.print(
                f"{result.changed} sealed anew, {result.unchanged} were under the first key already,"
                f" {len(result.unopened)} can't be opened."
            )
            for source in sources.unopened:
                self.console.print(
                    f"Source {source}: add the key that it was sealed under, or give its credentials anew."
                )
            for webhook in webhooks.unopened:
                self.console.print(
                    f"Webhook {webhook}: add the key that it was sealed under, or create it anew."
                )
        return Exit.UNHEALTHY if result.unopened else Exit.DONE
