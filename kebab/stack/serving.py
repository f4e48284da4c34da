"""Serving with uvicorn so that a load balancer notices before a process stops: it drains first."""

import contextlib
import os
import signal
from types import FrameType

import uvicorn
from uvicorn.supervisors import Multiprocess

from kebab import draining


def serve(config: uvicorn.Config, *, drain_s: float) -> None:
    """Serve until SIGINT or SIGTERM; after SIGTERM for `drain_s` seconds more, in which it is not ready."""
    with contextlib.suppress(KeyboardInterrupt):
        if config.workers > 1:
            _DrainingParent(config, drain_s).run()
        else:
            _DrainingServer(config, drain_s).run()


class _DrainingParent(Multiprocess):
    """Several processes on one socket; they drain together."""

    def __init__(self, config: uvicorn.Config, drain_s: float) -> None:
        super().__init__(config, sockets=[config.bind_socket()])
        self._drain_s = drain_s

    def handle_term(self) -> None:
        """Have all of them drain, then end."""
        if self._drain_s:
            for process in self.processes:
                if process.pid is not None and process.exitcode is None:
                    os.kill(process.pid, draining.DRAIN_SIGNAL)
            self.should_exit.wait(self._drain_s)
        super().handle_term()


class _DrainingServer(uvicorn.Server):
    """One process."""

    def __init__(self, config: uvicorn.Config, drain_s: float) -> None:
        super().__init__(config)
        self._drain_s = drain_s

    def handle_exit(self, sig: int, frame: FrameType | None) -> None:
        """Drain before the end; a second signal is urgent."""
        if sig != signal.SIGTERM or not self._drain_s or draining.is_draining():
            super().handle_exit(sig, frame)
            return
        draining.begin()
        signal.signal(signal.SIGALRM, lambda *_: self.handle_exit(sig, None))
        signal.setitimer(signal.ITIMER_REAL, self._drain_s)
