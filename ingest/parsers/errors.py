"""Errors of parsing a document.

IngestParseError
├── ParseRefused  the content is not something any parser reads (a skip, with its reason)
└── Quarantined   every parser of the ladder died on this content

`kebab.sandbox.program` has those of the sandboxed process.
"""


class IngestParseError(Exception):
    """A document could not be turned into chunks."""


class ParseRefused(IngestParseError):
    """No parser reads this content; `code` is a stable reason, `detail` a message for people."""

    def __init__(self, code: str, detail: str) -> None:
        super().__init__(detail)
        self.code = code
        self.detail = detail


class Quarantined(IngestParseError):
    """Every parser died; `reason` lists the end of each. Retry when the content or a parser changes."""

    def __init__(self, reason: str) -> None:
        super().__init__(reason)
        self.reason = reason
