"""Gives clients up that take nothing of what they are sent."""

import asyncio

from asgiref.typing import ASGISendCallable, ASGISendEvent

from kebab.admission.connections import Peer, close_connections
from kebab.admission.limits import SENDING_S


class NothingTaken(Exception):
    """A client has taken nothing of its answer for too long, and its connection has been closed."""


def sending_in_time(send: ASGISendCallable, peer: Peer | None) -> ASGISendCallable:
    """Return a `send` that closes the connection to `peer` after the limit, and raises NothingTaken."""

    in_pieces = False

    async def send_in_time(message: ASGISendEvent) -> None:
        nonlocal in_pieces
        in_pieces = in_pieces or message.get("more_body", False)
        if not in_pieces:  # the server takes a whole answer at once
            await send(message)
            return
        try:
            async with asyncio.timeout(SENDING_S):
                await send(message)
        except TimeoutError:
            if peer is not None:
                close_connections({peer})
            raise NothingTaken from None

    return send_in_time
