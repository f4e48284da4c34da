"""Serving with granian, whose own threads read requests and send answers: no client holds up one of ours."""

import copy
import logging
import multiprocessing
import os
import signal
import threading
from typing import Any, Final

from granian.constants import HTTPModes, Interfaces, Loops
from granian.http import HTTP1Settings
from granian.log import LOGGING_CONFIG
from granian.server import Server

from kebab import draining
from kebab.admission import limits

APPLICATION: Final = "kebab.asgi:application"
#: How the server is set up wherever the application is served, in tests too.
OPTIONS: Final[dict[str, Any]] = {
    "interface": Interfaces.ASGI,
    "http": HTTPModes.http1,
    "websockets": False,
    "backlog": 2_048,
    "backpressure": limits.CONNECTIONS,
    "http1_settings": HTTP1Settings(
        header_read_timeout=limits.HEAD_S * 1000, max_buffer_size=limits.HEAD_BYTES
    ),
    "log_access": False,
}
_GRACE_S: Final = 20

logger = logging.getLogger(__name__)


class WebServer(Server):
    """Processes on one port; the parent restarts those that end, and has all drain before they do."""

    def __init__(self, *, host: str, port: int, workers: int, drain_s: float) -> None:
        super().__init__(
            APPLICATION,
            address=host,
            port=port,
            workers=workers,
            loop=Loops.uvloop,
            respawn_failed_workers=True,
            workers_kill_timeout=_GRACE_S,
            # Django's settings configure the loggers.
            log_dictconfig={**copy.deepcopy(LOGGING_CONFIG), "loggers": {}, "handlers": {}, "formatters": {}},
            **OPTIONS,
        )
        self._drain_s = drain_s
        self._is_stopping = False

    def signal_handler_interrupt(self, number: int, frame: Any) -> None:
        """Drain before the end; SIGINT, and a second signal, are urgent."""
        if number == signal.SIGTERM and self._drain_s and not self._is_stopping:
            self._is_stopping = True
            self._tell(draining.DRAIN_SIGNAL)
            timer = threading.Timer(self._drain_s, self._stop)
            timer.daemon = True
            timer.start()
        else:
            self._stop()

    def _stop(self) -> None:
        self._tell(draining.END_SIGNAL)
        super().signal_handler_interrupt()

    def _tell(self, number: int) -> None:
        for worker in self.wrks:
            if worker.is_alive():
                os.kill(worker.inner.pid, number)


def serve(*, host: str, port: int, workers: int, drain_s: float) -> None:
    """Serve until SIGINT or SIGTERM; after SIGTERM for `drain_s` seconds more, in which it is not ready."""
    # A fork would take over the locks of threads that it doesn't have.
    multiprocessing.set_start_method("spawn", force=True)
    WebServer(host=host, port=port, workers=workers, drain_s=drain_s).serve()
