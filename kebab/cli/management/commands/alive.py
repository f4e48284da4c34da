"""`kebab alive`: the liveness probe of a process that has no port."""

from typing import Any

import redis
from django.conf import settings
from django.core.management.base import CommandParser
from django.db import Error

from kebab.cli.command import KebabCommand
from kebab.cli.errors import NotFound
from kebab.exit_codes import Exit
from kebab.stack.models import StackProcess
from kebab.stack.supervisor.watchdog import find_complaint


class Command(KebabCommand):
    """The probe command: it exits with 1 if Postgres knows no such process, with 3 if it is silent or stuck.

    A process is not to be restarted because a store is down, nor (1) because it is still starting.
    """

    help = (
        "Whether this node's process of that name gives signs of life and works (exit 3: it doesn't; 1: there"
        " is none, or it is still starting)."
    )

    def add_arguments(self, parser: CommandParser) -> None:
        """Add the name of the process."""
        super().add_arguments(parser)
        parser.add_argument("name", help="worker, embedder, mirror, beat, watch, web, or as it was named")

    def run_command(self, *, name: str, **options: Any) -> int:
        """Check the process and print its problem."""
        node = settings.KEBAB_NODE_ID
        try:
            names = StackProcess.objects.filter(node=node).order_by("name").values_list("name", flat=True)
            if name not in (known := list(names.distinct())):
                raise NotFound(
                    f"There is no process {name!r} on {node}; there are: {', '.join(known) or 'none'}."
                )
            complaint = find_complaint(node, name, settings.REDIS_URL)
        except (Error, redis.RedisError) as error:
            self.remarks.print(f"It can't be asked after at the moment: {error}")
            return Exit.DONE
        self.answer({"name": name, "alive": not complaint, "complaint": complaint}, complaint or "alive")
        return Exit.UNHEALTHY if complaint else Exit.DONE
