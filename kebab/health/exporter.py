"""A metrics exporter on its own port, for machines without a web process.

Only web processes run collectors: a worker may hold no connection to Postgres while it forks.
"""

import logging
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

from django.conf import settings

import kebab
from kebab.health.metrics_access import may_read
from kebab.health.scrape import write_processes
from kebab.observability.metrics.aggregate import ProcessReader
from kebab.observability.metrics.collectors import WORKSPACE
from kebab.observability.metrics.exposition import CONTENT_TYPE, Page
from kebab.observability.metrics.files import declared_families, metrics_folder

logger = logging.getLogger(__name__)


def serve_metrics() -> None:
    """Serve `/metrics` at `KEBAB_METRICS_PORT` in a thread, if the port is set and free."""
    if not settings.KEBAB_METRICS_PORT:
        return
    try:
        server = ThreadingHTTPServer((settings.KEBAB_HOST, settings.KEBAB_METRICS_PORT), _Handler)
    except OSError as error:
        # The process that has the port exposes all processes of the node.
        logger.info("port %d tells of this process: %s", settings.KEBAB_METRICS_PORT, error)
        return
    server.daemon_threads = True
    threading.Thread(target=server.serve_forever, name="metrics", daemon=True).start()


def render_metrics() -> bytes:
    """Return the metrics of all processes of the node, with the kernel's data on them."""
    page = Page(family for family in declared_families().values() if WORKSPACE not in family.labels)
    write_processes(page, ProcessReader(metrics_folder()).write(page))
    return page.text()


class _Handler(BaseHTTPRequestHandler):
    server_version, sys_version = f"kebab/{kebab.__version__}", ""

    def do_GET(self) -> None:
        """Answer the only address, `/metrics`."""
        status = 200 if self.path.partition("?")[0] == "/metrics" else 404
        if status == 200 and not may_read(
            str(self.client_address[0]),
            authorization=self.headers.get("Authorization", ""),
            is_forwarded="X-Forwarded-For" in self.headers,
        ):
            status = 401
        body = render_metrics() if status == 200 else b""
        self.send_response(status)
        self.send_header("Content-Type", CONTENT_TYPE)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_: object) -> None:
        """Log nothing: scrapes are not logged."""
