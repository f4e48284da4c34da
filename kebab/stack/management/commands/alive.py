"""`kebab alive`: what asks after a process that has no port."""

from typing import Any

import redis
from django.conf import settings
from django.core.management.base import CommandParser
from django.db import Error

from kebab.cli.command import BaseVerb
from kebab.cli.errors import Exit
from kebab.stack.supervisor.liveness import complaint_about


class Command(BaseVerb):
    """For probes: 3 only when Postgres answers and says that the process is silent or stuck.

    A store that is away is no reason to start a process anew, nor is one that is still starting.
    """

    help = "Whether this node's process of that name gives signs of life and works (exit 3: it doesn't)."

    def add_arguments(self, parser: CommandParser) -> None:
        """Whom to ask after."""
        super().add_arguments(parser)
        parser.add_argument("name", help="worker, embedder, mirror, beat, watch, web, or as it was named")

    def run_verb(self, *, name: str, **options: Any) -> int:
        """Ask, and say what is wrong."""
        try:
            complaint = complaint_about(settings.KEBAB_NODE_ID, name, settings.REDIS_URL)
        except (Error, redis.RedisError) as error:
            self.remarks.print(f"It can't be asked after at the moment: {error}")
            return Exit.DONE
        self.answer({"name": name, "alive": not complaint, "complaint": complaint}, complaint or "alive")
        return Exit.UNHEALTHY if complaint else Exit.DONE
