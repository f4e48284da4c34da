"""What can go wrong with a request that Kebab sends.

RequestFailed
├── AddressRefused      the name leads to an address that Kebab may not reach
├── OutOfTime           no whole answer within the limit
└── StatusRefused       an answer other than 2xx

A message completes a sentence whose subject is the other side ("did not answer in time"). It names no
address and nothing that was sent, so that it may be shown to anybody.
"""


class RequestFailed(Exception):
    """There is no answer that could be used."""


class AddressRefused(RequestFailed):
    """The name leads to an address that Kebab may not reach."""


class OutOfTime(RequestFailed):
    """There was no whole answer within the limit."""


class StatusRefused(RequestFailed):
    """The answer was not a 2xx."""

    def __init__(self, message: str, *, status: int) -> None:
        super().__init__(message)
        self.status = status
