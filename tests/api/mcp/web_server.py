"""The web process's application, served in a thread of the test process."""

import asyncio
import threading
from collections.abc import Iterator
from contextlib import contextmanager

from granian.server.embed import Server

from kebab.stack.servers.reachability import is_serving
from kebab.stack.supervisor.web_server import OPTIONS
from tests.support.stack import eventually, free_port


@contextmanager
def running_web_server() -> Iterator[str]:
    """Run the server during the block; yield its address."""
    from kebab.application import create_application

    port = free_port()
    url = f"http://127.0.0.1:{port}"
    loop = asyncio.new_event_loop()
    stopping = asyncio.Event()

    async def serve() -> None:
        server = Server(create_application(), address="127.0.0.1", port=port, log_enabled=False, **OPTIONS)
        serving = asyncio.create_task(server.serve())
        await stopping.wait()
        server.stop()
        await serving

    thread = threading.Thread(target=loop.run_until_complete, args=(serve(),), name="server")
    thread.start()
    try:
        eventually(lambda: is_serving(url) or not thread.is_alive(), "the application is served")
        assert thread.is_alive()
        yield url
    finally:
        loop.call_soon_threadsafe(stopping.set)
        thread.join()
        loop.close()
