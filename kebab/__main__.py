"""The entry point `kebab`: `kebab COMMAND` runs the management command COMMAND."""

import os
import sys


def main() -> None:
    """Run the command named on the command line under Kebab's settings; exit 2 on an unreported error."""
    os.environ.setdefault("DJANGO_SETTINGS_MODULE", "kebab.settings")
    from kebab.cli.dispatch import run

    run(["kebab", *sys.argv[1:]])


if __name__ == "__main__":
    main()
