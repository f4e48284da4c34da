"""Finds the verb that a command line names, and tells what goes wrong before the verb can tell it itself."""

import sys
from difflib import get_close_matches
from typing import NoReturn

from django.conf import settings
from django.core.management import ManagementUtility, get_commands
from django.core.management.base import BaseCommand


class Verbs(ManagementUtility):
    """Django's, whose own end for an unknown command is exit code 1."""

    def fetch_command(self, subcommand: str) -> BaseCommand:
        """Return the verb. Raises CliError for one that there isn't, ImproperlyConfigured."""
        known = get_commands()
        if subcommand not in known:
            _ = settings.INSTALLED_APPS  # wrong settings hide the verbs, and are told instead
            _refuse(subcommand, list(known))
        return super().fetch_command(subcommand)


def run(argv: list[str]) -> None:
    """Run the command line; an error that reaches us is told, as error.v1 with `--json`, and ends it."""
    try:
        Verbs(argv).execute()
    except Exception as error:  # noqa: BLE001 - as in BaseVerb
        from kebab.cli.errors import report_any  # what only errors need costs no start its time

        sys.exit(report_any(error, sys.stderr, as_json="--json" in argv))


def _refuse(name: str, known: list[str]) -> NoReturn:
    from kebab.cli.errors import CliError  # as above

    alike = get_close_matches(name, known, n=1)
    meant = f" Did you mean {alike[0]}?" if alike else ""
    raise CliError(f"There is no verb {name[:100]!r}.{meant} kebab help lists them.")
