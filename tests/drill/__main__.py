"""Runs the drill: `python -m tests.drill --help`. Exit status 1 when an invariant was violated."""

import os
import signal
import sys
from collections.abc import Sequence
from types import FrameType

import django

from tests.drill.options import Options
from tests.drill.stack import Stack, temporary_directory


def main(arguments: Sequence[str]) -> int:
    """Run the drill that the arguments describe, and give the exit status."""
    options = Options.parsed(arguments)
    signal.signal(signal.SIGTERM, _leave)
    stack = Stack(
        options.keep or temporary_directory(),
        KEBAB_EMBEDDER="hash",
        KEBAB_NODE_ID="drill",
        KEBAB_LEASE_S=str(options.lease_s),
        KEBAB_WITHOUT=",".join(options.without),
    )
    # Here, too, settings are read from the environment: this process looks into the stack's own database.
    os.environ.update(stack.environment, KEBAB_LOG_LEVEL="ERROR")
    os.environ["DJANGO_SETTINGS_MODULE"] = "kebab.settings"
    django.setup()
    from tests.drill.drill import run_drill

    try:
        return run_drill(stack, options)
    finally:
        if options.keep is None:
            stack.remove()


def _leave(number: int, frame: FrameType | None) -> None:
    raise SystemExit(128 + number)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
