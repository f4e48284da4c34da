"""The `kebab` command: `kebab VERB` runs the management command VERB."""

import os
import sys


def main() -> None:
    """Run the verb named on the command line under Kebab's settings; exit 2 for what no verb has told."""
    os.environ.setdefault("DJANGO_SETTINGS_MODULE", "kebab.settings")
    from kebab.cli.dispatch import run

    run(["kebab", *sys.argv[1:]])


if __name__ == "__main__":
    main()
