"""Workers of the sandboxed process that reads sites: one that all tests share, and one without a process."""

import json
from collections.abc import Callable, Iterator
from functools import cache
from typing import Any

from ingest.connectors.web.child import SiteChild
from ingest.connectors.web.requests import site_program
from kebab.http_client.connections import RequestFailed
from kebab.sandbox.process import Request
from kebab.sandbox.program import ChildDied, Header
from kebab.sandbox.worker import SandboxWorker


class SharedWorker(SandboxWorker):
    """A worker that its crawls don't close, because the start of its process takes longer than they do."""

    def ask(self, request: Request, read: Callable[[Iterator[Header]], Any]) -> Any:
        """Return the result of `read`; an exchange that broke off ends the process."""
        try:
            return super().ask(request, read)
        except (ChildDied, RequestFailed):
            raise
        except BaseException:
            super().close()
            raise

    def close(self) -> None:
        """Keep the process, unless it has died."""
        if self._process is not None and not self._process.is_alive:
            super().close()


@cache
def shared_worker() -> SharedWorker:
    """Return the worker of this test process."""
    return SharedWorker(site_program())


class WorkerWithoutProcess:
    """Answers in the test's own process, whose sockets and names the test may replace."""

    def __init__(self, program: Any) -> None:
        self._child = SiteChild()

    def ask(self, request: Request, read: Callable[[Iterator[Header]], Any]) -> Any:
        """Return the result of `read`."""
        return read(self._child.handle(json.loads(json.dumps(request.header)), request.content))

    def close(self) -> None:
        """Close the connections, as the end of a process does."""
        self._child.close()
        self._child._fetcher.close()
