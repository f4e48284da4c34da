"""`kebab web`: the web process."""

from typing import Any

from django.conf import settings
from django.core.management.base import CommandParser

from kebab.cli.command import KebabCommand
from kebab.runtime.role import set_role
from kebab.stack.models import ProcessRole
from kebab.stack.nodes.registry import Heartbeat
from kebab.stack.servers.reachability import check_port
from kebab.stack.storage.blob_mark import check_own_blobs
from kebab.stack.supervisor.web_server import serve


class Command(KebabCommand):
    """Serves the application of `kebab.asgi` in `KEBAB_WEB_WORKERS` processes that share the port."""

    help = "Serve the API and the pages."
    acts_everywhere = False
    awaits_migrations = "reachable"

    def add_arguments(self, parser: CommandParser) -> None:
        """Add the address to listen on."""
        super().add_arguments(parser)
        parser.add_argument("--host", default=settings.KEBAB_HOST, help="address to listen on")
        parser.add_argument("--port", type=int, default=settings.KEBAB_PORT, help="port to listen on")

    def run_command(self, **options: Any) -> None:
        """Serve until SIGINT or SIGTERM; SIGTERM lets it drain first."""
        set_role("web")
        check_own_blobs(starts_without=True)
        address = check_port(options["host"], options["port"])
        heartbeat = Heartbeat(ProcessRole.WEB, slots=settings.KEBAB_WEB_WORKERS)
        heartbeat.guard_forks()
        with heartbeat:
            serve(
                host=address,
                port=options["port"],
                workers=settings.KEBAB_WEB_WORKERS,
                drain_s=settings.KEBAB_DRAIN_S,
            )
