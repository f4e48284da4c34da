"""What can go wrong with a request that Kebab sends.

RequestFailed
├── AddressRefused      the name leads to an address that Kebab may not reach
├── AnswerTooLarge      more bytes than may be read
├── OutOfTime           no whole answer within the limit
└── StatusRefused       an answer other than 2xx

A message completes a sentence whose subject is the other side ("did not answer in time"). It names no
address and nothing that was sent, so that it may be shown to anybody.
"""

from collections.abc import Iterator
from contextlib import contextmanager
from ssl import SSLError

import httpcore2


class RequestFailed(Exception):
    """There is no answer that could be used."""


class AddressRefused(RequestFailed):
    """The name leads to an address that Kebab may not reach."""


class AnswerTooLarge(RequestFailed):
    """The answer has more bytes than may be read."""


class OutOfTime(RequestFailed):
    """There was no whole answer within the limit."""


class StatusRefused(RequestFailed):
    """The answer was not a 2xx."""

    def __init__(self, message: str, *, status: int, retry_after_s: float | None = None) -> None:
        """`retry_after_s` is how long the other side asks to be left alone."""
        super().__init__(message)
        self.status = status
        self.retry_after_s = retry_after_s


@contextmanager
def failures_named() -> Iterator[None]:
    """Return what the HTTP client raises as the errors of this tree."""
    try:
        yield
    except (TimeoutError, httpcore2.TimeoutException) as error:
        raise OutOfTime("did not answer in time") from error
    except httpcore2.ConnectError as error:
        if isinstance(error.__context__, SSLError):
            raise RequestFailed("shows a certificate that can't be trusted, or speaks no TLS") from error
        raise RequestFailed("can't be reached") from error
    except (httpcore2.NetworkError, httpcore2.ProtocolError) as error:
        raise RequestFailed("broke off its answer, or did not speak HTTP") from error
