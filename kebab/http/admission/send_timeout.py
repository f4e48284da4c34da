"""The time limit for sending each piece of a response."""

import asyncio
from collections.abc import Callable

from asgiref.typing import ASGISendCallable, ASGISendEvent

from kebab.runtime.connection_limits import SEND_TIMEOUT_S


class SendTimeout(Exception):
    """A client has read nothing of its response for too long; its connection is being closed."""


def limit_sending(send: ASGISendCallable, on_timeout: Callable[[], None]) -> ASGISendCallable:
    """Return a `send` that calls `on_timeout` and raises SendTimeout after the limit."""
    in_pieces = False

    async def send_within_limit(message: ASGISendEvent) -> None:
        nonlocal in_pieces
        in_pieces = in_pieces or bool(message.get("more_body"))
        if not in_pieces:  # the server buffers a response that is sent as one piece
            await send(message)
            return
        try:
            async with asyncio.timeout(SEND_TIMEOUT_S):
                await send(message)
        except TimeoutError:
            on_timeout()
            raise SendTimeout from None

    return send_within_limit
