"""Errors of reads and writes of the corpus.

CorpusError
├── UnknownSource
├── SourceMismatch
├── InvalidPath
├── InvalidLibraryId
├── SpaceConflict
├── UnknownEmbedder
├── GoldenQueriesWorse
├── GateOutOfTime
└── ChangeUntested
"""

from collections.abc import Sequence
from typing import ClassVar

from kebab.errors import FieldError


class CorpusError(Exception):
    """A request about the corpus can't be met; the message says what to do."""

    code: ClassVar[str] = "corpus_error"
    status: ClassVar[int] = 400


class UnknownSource(CorpusError):
    """No such source in this workspace."""

    code = "unknown_source"
    status = 422


class SourceMismatch(CorpusError):
    """The source exists, with another kind or configuration."""

    code = "source_mismatch"
    status = 409


class InvalidPath(CorpusError):
    """A document's path can't be cited: it must be relative POSIX, NFC, without `#`."""

    code = "invalid_path"
    status = 422


class InvalidLibraryId(CorpusError):
    """The given library id is malformed."""

    code = "invalid_library_id"


class SpaceConflict(CorpusError):
    """The workspace's embedding spaces do not allow it as they are now."""

    code = "space_conflict"
    status = 409


class UnknownEmbedder(CorpusError):
    """The settings allow no embedder of this name."""

    code = "unknown_embedder"
    status = 422


class GoldenQueriesWorse(CorpusError):
    """The workspace's golden queries get worse by the change; `errors` names those that lose most."""

    code = "quality_gate"
    status = 409

    def __init__(self, detail: str, *, sentence: str, errors: Sequence[FieldError] = ()) -> None:
        """Create the error; `sentence` has the figures even where `detail` must not show them."""
        self.sentence = sentence
        self.errors = tuple(errors)
        super().__init__(detail)


class GateOutOfTime(CorpusError):
    """The golden queries take longer to ask than a request waits."""

    code = "quality_gate_slow"
    status = 409


class ChangeUntested(CorpusError):
    """The golden queries can't be asked before the change applies, so that it needs a confirmation."""

    code = "quality_gate_untested"
    status = 409
