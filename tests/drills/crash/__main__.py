"""Command of the drill: `python -m tests.drills.crash --help`. Exit status 1 on a violated invariant."""

import os
import signal
import sys
from collections.abc import Mapping, Sequence
from contextlib import nullcontext
from types import FrameType

import django

from tests.drills.crash.model import HeldModel, held_model
from tests.drills.crash.options import SCENES_OF_ONE_STACK, Options
from tests.drills.crash.siege.report import write_json
from tests.drills.crash.siege.scenes import play_sieges
from tests.drills.crash.verdict import Verdict
from tests.drills.crash.volumes import Disk, disks_of
from tests.support.stack import Stack, temporary_directory


def main(arguments: Sequence[str]) -> int:
    """Run the drill that the arguments describe, and return the exit status."""
    options = Options.parse(arguments)
    signal.signal(signal.SIGTERM, _exit_on_signal)
    verdict = Verdict()
    verdict.say(str(options))
    if set(options.scenes) & set(SCENES_OF_ONE_STACK):
        with held_model() as (model, embedder_setting):
            _drill(options, model, embedder_setting, verdict)
    found = play_sieges(options, verdict)
    if options.json is not None:
        write_json(options.json, found)
    return verdict.conclude()


def _drill(options: Options, model: HeldModel, embedder_setting: str, verdict: Verdict) -> None:
    stack = Stack(
        options.keep or temporary_directory(),
        KEBAB_EMBEDDER="hash",
        KEBAB_EMBEDDERS=embedder_setting,
        # Vectors must not be dropped from searches merely because the machine is busy.
        KEBAB_LEG_LIMIT_MS="60000",
        KEBAB_NODE_ID="drill",
        KEBAB_LEASE_S=str(options.lease_s),
        KEBAB_WITHOUT=",".join(options.without),
    )
    try:
        # Before the settings are read, as reading them creates secrets in the data directory.
        with disks_of(stack) if "disks" in options.scenes else nullcontext({}) as disks:
            _play(stack, options, model, disks, verdict)
    finally:
        if options.keep is None:
            stack.remove()


def _play(
    stack: Stack, options: Options, model: HeldModel, disks: Mapping[str, Disk], verdict: Verdict
) -> None:
    # Settings of this process also come from the environment: it reads the stack's database.
    os.environ.update(stack.environment, KEBAB_LOG_LEVEL="ERROR")
    os.environ["DJANGO_SETTINGS_MODULE"] = "kebab.settings"
    django.setup()
    from kebab.tenancy.current_workspace import acting_everywhere
    from tests.drills.crash.drill import run_drill

    with acting_everywhere():
        run_drill(stack, options, model, disks, verdict)


def _exit_on_signal(number: int, frame: FrameType | None) -> None:
    raise SystemExit(128 + number)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
