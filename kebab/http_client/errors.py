"""The error tree of outgoing requests.

RequestFailed
├── AddressRefused      the name leads to an address that Kebab may not reach
├── ResponseTooLarge    more bytes than may be read
├── TimedOut            no complete response within the limit
└── StatusRefused       a response other than 2xx

A message completes a sentence whose subject is the other side ("did not answer in time"). It names no
address and nothing of the request, so that it may be shown to anybody.
"""

from collections.abc import Iterator
from contextlib import contextmanager
from ssl import SSLError

import httpcore2


class RequestFailed(Exception):
    """The request has no usable response."""


class AddressRefused(RequestFailed):
    """The name leads to an address that Kebab may not reach."""


class ResponseTooLarge(RequestFailed):
    """The response has more bytes than may be read."""


class TimedOut(RequestFailed):
    """There was no complete response within the limit."""


class StatusRefused(RequestFailed):
    """The response was not a 2xx."""

    def __init__(self, message: str, *, status: int, retry_after_s: float | None = None) -> None:
        """Take the status and the `Retry-After` of the response, in seconds."""
        super().__init__(message)
        self.status = status
        self.retry_after_s = retry_after_s


@contextmanager
def map_errors() -> Iterator[None]:
    """Map exceptions of the HTTP library, raised in the block, to the errors of this tree."""
    try:
        yield
    except (TimeoutError, httpcore2.TimeoutException) as error:
        raise TimedOut("did not answer in time") from error
    except httpcore2.ConnectError as error:
        if isinstance(error.__context__, SSLError):
            raise RequestFailed("shows a certificate that can't be trusted, or speaks no TLS") from error
        raise RequestFailed("can't be reached") from error
    except (httpcore2.NetworkError, httpcore2.ProtocolError) as error:
        raise RequestFailed("broke off its answer, or did not speak HTTP") from error
