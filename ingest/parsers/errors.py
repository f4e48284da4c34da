"""Errors of parsing a document.

IngestParseError
├── ParseRefused        the content is not something any parser reads (a skip, with its reason)
├── ParserDied          the sandboxed process ended, hung or ran out of memory on this content
├── Quarantined         every parser of the ladder died on this content
└── SandboxUnavailable  no sandboxed process can be started: the machine's fault, not the document's
"""


class IngestParseError(Exception):
    """A document could not be turned into chunks."""


class ParseRefused(IngestParseError):
    """No parser reads this content; `code` is a stable reason, `detail` a message for people."""

    def __init__(self, code: str, detail: str) -> None:
        super().__init__(detail)
        self.code = code
        self.detail = detail


class ParserDied(IngestParseError):
    """The parsing process did not answer; `reason` is a message for people."""

    def __init__(self, reason: str) -> None:
        super().__init__(reason)
        self.reason = reason


class Quarantined(IngestParseError):
    """Every parser died; `reason` lists the end of each. Retry when the content or a parser changes."""

    def __init__(self, reason: str) -> None:
        super().__init__(reason)
        self.reason = reason


class SandboxUnavailable(IngestParseError):
    """No sandboxed process can be started, or its pool was closed; try the same document again later."""
