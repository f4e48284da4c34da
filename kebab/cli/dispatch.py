"""The entry point of the command line: finds the command, and reports errors raised before it runs."""

import sys
from difflib import get_close_matches
from typing import NoReturn

from django.conf import settings
from django.core.management import ManagementUtility, get_commands
from django.core.management.base import BaseCommand

from kebab.cli.catalogue import COMMANDS


class KebabManagementUtility(ManagementUtility):
    """Django's utility, but unknown commands raise CliError; Django would exit with code 1."""

    def fetch_command(self, subcommand: str) -> BaseCommand:
        """Return the command. Raises CliError for an unknown one, ImproperlyConfigured."""
        known = get_commands()
        if subcommand not in known:
            _ = settings.INSTALLED_APPS  # invalid settings hide the commands; this raises their error instead
            _raise_unknown(subcommand)
        return super().fetch_command(subcommand)


def run(argv: list[str]) -> None:
    """Run the command line; report an error, as error.v1 with `--json`, and exit."""
    try:
        KebabManagementUtility(argv).execute()
    except Exception as error:  # noqa: BLE001 - as in KebabCommand
        from kebab.cli.report import report_any  # imported here to keep the start fast

        sys.exit(report_any(error, sys.stderr, as_json="--json" in argv))


def _raise_unknown(name: str) -> NoReturn:
    from kebab.cli.errors import CliError  # as above

    alike = get_close_matches(name, COMMANDS, n=1)
    meant = f" Did you mean {alike[0]}?" if alike else ""
    raise CliError(f"There is no command {name[:100]!r}.{meant} kebab help lists them.")
