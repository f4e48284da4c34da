"""The entry point of the command line: finds the command, and reports errors raised before it runs."""

import sys
from difflib import get_close_matches
from typing import NoReturn

from django.conf import settings
from django.core.management import ManagementUtility, get_commands
from django.core.management.base import BaseCommand

from kebab.cli.catalogue import COMMANDS, REPLACED
from kebab.cli.errors import CliError, run_to_exit_code
from kebab.exit_codes import Exit


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

    def act() -> int:
        KebabManagementUtility(argv).execute()
        return Exit.DONE

    code = run_to_exit_code(act, sys.stderr, as_json="--json" in argv)
    if code != Exit.DONE:
        sys.exit(code)


def _raise_unknown(name: str) -> NoReturn:
    if name in REPLACED:
        raise CliError(f"kebab {name} is gone; use {REPLACED[name]}")
    alike = get_close_matches(name, COMMANDS, n=1)
    meant = f" Did you mean {alike[0]}?" if alike else ""
    raise CliError(f"There is no command {name[:100]!r}.{meant} kebab help lists them.")
