"""Errors of the sandbox.

SandboxError
├── ChildDied           the sandboxed process ended, hung or ran out of memory on this request
└── SandboxUnavailable  no sandboxed process can be started: the machine's fault, not the request's
"""

from typing import Final

#: reason of a child whose memory did not suffice
OUT_OF_MEMORY: Final = "it ran out of memory"


class SandboxError(Exception):
    """A sandboxed process gave no answer."""


class ChildDied(SandboxError):
    """The sandboxed process did not answer; `reason` is a message for people and logs.

    `detail` is the message of the error that the request failed with, if any; it may quote the content.
    `was_killed_from_outside` tells that a signal ended it which neither a request nor its parent sends.
    """

    def __init__(self, reason: str, detail: str = "", *, was_killed_from_outside: bool = False) -> None:
        super().__init__(reason)
        self.reason = reason
        self.detail = detail
        self.was_killed_from_outside = was_killed_from_outside


class SandboxUnavailable(SandboxError):
    """No sandboxed process can be started, or its owner was closed; try the same request again later."""
