"""The `kebab` command: `kebab VERB` runs the management command VERB."""

import os
import sys


def main() -> None:
    """Run the verb named on the command line under Kebab's settings."""
    os.environ.setdefault("DJANGO_SETTINGS_MODULE", "kebab.settings")
    from django.core.management import execute_from_command_line

    execute_from_command_line(["kebab", *sys.argv[1:]])


if __name__ == "__main__":
    main()
