"""Gives clients up that take nothing of what they are sent."""

import asyncio

from asgiref.typing import ASGISendCallable, ASGISendEvent

from kebab.admission.connections import Peer, close_connections
from kebab.admission.limits import SENDING_S


class NothingTaken(Exception):
    """A client has taken nothing of its answer for too long, and its connection has been closed."""


def sending_in_time(send: ASGISendCallable, peer: Peer | None) -> ASGISendCallable:
    """Return a `send` that closes the connection to `peer` after the limit, and raises NothingTaken."""

    async def send_in_time(message: ASGISendEvent) -> None:
        try:
            async with asyncio.timeout(SENDING_S):
                await send(message)
        except TimeoutError:
            if peer is not None:
                close_connections({peer})
            raise NothingTaken from None

    return send_in_time
