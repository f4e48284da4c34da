"""`kebab web`: the web process."""

from typing import Any

import uvicorn
from django.conf import settings
from django.core.management.base import CommandParser

from kebab.cli.verb import BaseVerb
from kebab.role import take_role
from kebab.stack.heartbeat import Heartbeat
from kebab.stack.models import ProcessRole
from kebab.stack.serving import serve

_GRACE_S = 20
# Longer than proxies keep theirs (nginx: 60 s): what closes first must not be what is about to be sent to.
_KEEP_ALIVE_S = 75
# Loading a model may hold the interpreter's lock for longer than uvicorn's five seconds. While it waits for a
# worker that died meanwhile, uvicorn heeds no signal: no more than needed.
_HEALTH_LIMIT_S = 10


class Command(BaseVerb):
    """Serves `kebab.asgi` with uvicorn, in `KEBAB_WEB_WORKERS` processes that share the port."""

    help = "Serve the API and the pages."
    acts_everywhere = False
    awaits_migrations = "reachable"

    def add_arguments(self, parser: CommandParser) -> None:
        """Where to listen."""
        super().add_arguments(parser)
        parser.add_argument("--host", default=settings.KEBAB_HOST, help="address to listen on")
        parser.add_argument("--port", type=int, default=settings.KEBAB_PORT, help="port to listen on")

    def run_verb(self, **options: Any) -> None:
        """Serve until SIGINT or SIGTERM; SIGTERM lets it drain first."""
        take_role("web")
        with Heartbeat(ProcessRole.WEB, slots=settings.KEBAB_WEB_WORKERS):
            config = uvicorn.Config(
                "kebab.asgi:application",
                host=options["host"],
                port=options["port"],
                workers=settings.KEBAB_WEB_WORKERS,
                # Without uvloop, two workers answered in 44 ms instead of 2: delayed acknowledgements.
                loop="uvloop",
                http="httptools",
                log_config=None,  # Django's settings configure the loggers
                access_log=False,
                server_header=False,
                # Whose X-Forwarded-For is believed is told by KEBAB_TRUSTED_PROXIES alone.
                proxy_headers=False,
                timeout_keep_alive=_KEEP_ALIVE_S,
                timeout_graceful_shutdown=_GRACE_S,
                timeout_worker_healthcheck=_HEALTH_LIMIT_S,
            )
            serve(config, drain_s=settings.KEBAB_DRAIN_S)
