"""The web process's application, served by uvicorn in a thread of the tests' own process."""

import threading
from collections.abc import Iterator
from contextlib import contextmanager

import uvicorn

from tests.support.stack import eventually, free_port


@contextmanager
def served() -> Iterator[str]:
    """Serve, and give the address."""
    port = free_port()
    config = uvicorn.Config(
        "kebab.asgi:application",
        host="127.0.0.1",
        port=port,
        log_config=None,
        access_log=False,
        loop="asyncio",
    )
    server = uvicorn.Server(config)
    thread = threading.Thread(target=server.run, name="uvicorn")
    thread.start()
    try:
        eventually(lambda: server.started or not thread.is_alive(), "the application is served")
        assert server.started
        yield f"http://127.0.0.1:{port}"
    finally:
        server.should_exit = True
        thread.join()
