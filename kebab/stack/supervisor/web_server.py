"""The web server granian, in several processes that share a port and drain before they stop."""

import gc
import multiprocessing
import os
import signal
import threading
from importlib import import_module
from typing import TYPE_CHECKING, Any, Final

from granian.constants import HTTPModes, Interfaces, Loops
from granian.http import HTTP1Settings

from kebab.runtime import connection_limits, draining

if TYPE_CHECKING:
    from granian.server import MPServer as Server
else:
    from granian.server import Server

#: Server options, which tests use, too.
OPTIONS: Final[dict[str, Any]] = {
    "interface": Interfaces.ASGI,
    "http": HTTPModes.http1,
    "websockets": False,
    "backlog": 2_048,
    "backpressure": connection_limits.CONNECTIONS,
    "http1_settings": HTTP1Settings(
        header_read_timeout=connection_limits.HEAD_TIMEOUT_S * 1000,
        max_buffer_size=connection_limits.HEAD_BYTES,
    ),
}
_GRACE_S: Final = 20


class WebServer(Server):
    """A server with several processes, which restarts those that die and drains all before it stops."""

    def __init__(self, *, host: str, port: int, workers: int, drain_s: float) -> None:
        super().__init__(
            "kebab.asgi:create_application",
            factory=True,
            address=host,
            port=port,
            workers=workers,
            process_name="kebab web",
            loop=Loops.uvloop,
            respawn_failed_workers=True,
            workers_kill_timeout=_GRACE_S,
            # Django's settings configure the loggers.
            log_dictconfig={"loggers": {}, "handlers": {}, "formatters": {}},
            **OPTIONS,
        )
        self._drain_s = drain_s
        self._is_stopping = False

    def signal_handler_interrupt(self, number: int, frame: Any) -> None:
        """Drain, then stop; SIGINT or a second signal stops at once."""
        if number == signal.SIGTERM and self._drain_s and not self._is_stopping:
            self._is_stopping = True
            self._signal_workers(draining.DRAIN_SIGNAL)
            timer = threading.Timer(self._drain_s, self._stop)
            timer.daemon = True
            timer.start()
        else:
            self._stop()

    def _stop(self) -> None:
        self._signal_workers(draining.END_SIGNAL)
        super().signal_handler_interrupt()  # type: ignore[no-untyped-call]  # granian has few types

    def _signal_workers(self, number: int) -> None:
        for worker in self.wrks:
            if worker.is_alive():
                os.kill(worker.inner.pid, number)


def serve(*, host: str, port: int, workers: int, drain_s: float) -> None:
    """Serve until SIGINT or SIGTERM; SIGTERM drains for `drain_s` seconds first, while it is not ready.

    The workers are forked, and share the memory of what is imported here. The only thread that runs meanwhile
    is that of the heartbeat, which guards forks.
    """
    import_module("kebab.urls")
    gc.collect()
    gc.freeze()
    multiprocessing.set_start_method("fork", force=True)
    WebServer(host=host, port=port, workers=workers, drain_s=drain_s).serve()
