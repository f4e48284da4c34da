"""The ASGI application: event streams run natively, all else over WSGI in threads, on one port.

Django's synchronous views are two to four times faster over WSGI than through its own ASGI bridge
(docs/decisions); a stream would hold a thread for as long as someone listens, so it doesn't get one.
"""

import os
import re

from a2wsgi import WSGIMiddleware
from a2wsgi.asgi_typing import ASGIApp, Receive, Scope, Send
from django.conf import settings
from django.core.asgi import get_asgi_application

from kebab.stack.lifeline import tie_to_spawner

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "kebab.settings")
tie_to_spawner()
_streams = get_asgi_application()

from kebab.wsgi import application as _wsgi  # noqa: E402  # Django is set up first

_STREAM_PATH = re.compile(r"\A/api/v1/workspaces/[^/]+/jobs/[^/]+/events\Z")
_views = WSGIMiddleware(_wsgi, workers=settings.KEBAB_WEB_THREADS)


async def application(scope: Scope, receive: Receive, send: Send) -> None:
    """Route a request by its path."""
    if scope["type"] == "lifespan":
        await _lifespan(receive, send)
        return
    app: ASGIApp = _streams if _STREAM_PATH.match(scope["path"]) else _views
    await app(scope, receive, send)


async def _lifespan(receive: Receive, send: Send) -> None:
    while True:
        message = await receive()
        if message["type"] == "lifespan.startup":
            await send({"type": "lifespan.startup.complete"})
        elif message["type"] == "lifespan.shutdown":
            await send({"type": "lifespan.shutdown.complete"})
            return
