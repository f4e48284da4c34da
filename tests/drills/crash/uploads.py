"""A client that uploads documents over HTTP while servers fail, and checks the acknowledgements."""

import threading
import time
from collections.abc import Callable, Mapping

import httpx

from tests.support.stack import Stack

_LIMIT_S = 5.0
_PAUSE_S = 0.3


class Uploader:
    """A thread that uploads one document after another, each until it is accepted (2xx).

    `pace` returns the finished share of the ingestion, 0 to 1: uploads keep pace with it.
    """

    def __init__(
        self, stack: Stack, slug: str, token: str, *, pace: Callable[[], float] = lambda: 1.0
    ) -> None:
        self._url = f"{stack.url}/api/v1/workspaces/{slug}/documents"
        self._headers = {"Authorization": f"Bearer {token}"}
        self._pace = pace
        self._stop = threading.Event()
        self._thread = threading.Thread(target=self._run, name="uploader", daemon=True)
        self._waiting: list[tuple[str, str]] = []
        self._lock = threading.Lock()
        self._total = 0
        self.accepted = 0
        self.refused_tries = 0
        self.violations: list[str] = []

    def __enter__(self) -> "Uploader":
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._stop.set()
        self._thread.join()

    def enqueue(self, texts: Mapping[str, str]) -> None:
        """Queue documents for upload."""
        with self._lock:
            self._waiting += texts.items()
            self._total += len(texts)

    @property
    def is_done(self) -> bool:
        """Return whether everything queued is accepted."""
        return self.accepted == self._total

    def _run(self) -> None:
        with httpx.Client(headers=self._headers, timeout=_LIMIT_S) as client:
            while not self._stop.wait(0.02):
                if self.accepted < self._total and self._pace() * self._total >= self.accepted:
                    path, text = self._waiting[self.accepted]
                    self._deliver(client, path, text)

    def _deliver(self, client: httpx.Client, path: str, text: str) -> None:
        while not self._stop.is_set():
            status = self._try(client, path, text)
            if 200 <= status < 300:
                self.accepted += 1
                return
            self.refused_tries += 1
            if 400 <= status < 500:
                self.violations.append(f"POST of {path} was answered with {status}")
            time.sleep(_PAUSE_S)

    def _try(self, client: httpx.Client, path: str, text: str) -> int:
        try:
            return client.post(self._url, json={"path": path, "text": text}).status_code
        except httpx.HTTPError:
            return 0
