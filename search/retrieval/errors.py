"""The errors of a search, with their HTTP statuses.

SearchError
├── InvalidQuery          400
│   └── SequenceUnknown   400
├── InvalidFilter         400
│   └── InvalidGlob       400
├── InvalidCitation       400
├── InvalidJudgedSet      400
├── InvalidMeasure        400
├── InvalidRunSetting     400
├── InvalidComparison     422
├── StaleCursor           410
├── OutOfTime             503, code timeout
├── NotSearchableYet      503, with a time to wait
├── EmbedderUnavailable   503; hybrid search answers without the vector leg
└── RerankerUnavailable   503; search answers in the fused order
"""

from typing import ClassVar

_SHOWN_CHARS = 60


def preview(value: object) -> str:
    """Return `value` for an error message: quoted, escaped, cut after 60 characters."""
    text = str(value)
    return ascii(text) if len(text) <= _SHOWN_CHARS else ascii(text[:_SHOWN_CHARS]) + "…"


class SearchError(Exception):
    """A search can't be answered; the message names the value and the remedy."""

    code: ClassVar[str] = "search_error"
    status: ClassVar[int] = 400


class InvalidQuery(SearchError):
    """The query, or one of its parameters, can't be understood."""

    code = "invalid_query"


class SequenceUnknown(InvalidQuery):
    """The log has no such change: nobody was given its number, or a restore or a failover lost it."""

    code = "sequence_unknown"


class InvalidFilter(SearchError):
    """A filter holds a value that no document could have."""

    code = "invalid_filter"


class InvalidGlob(InvalidFilter):
    """A path pattern is malformed or too long."""

    code = "invalid_glob"


class InvalidCitation(SearchError):
    """A citation can't be written, or a URI is not one that a citation writes."""

    code = "invalid_citation"


class InvalidJudgedSet(SearchError):
    """A set of queries and judgements can't be read."""

    code = "invalid_judged_set"


class InvalidMeasure(SearchError):
    """The measure doesn't exist, or can't be computed here."""

    code = "invalid_measure"


class InvalidRunSetting(SearchError):
    """An evaluation run can't use this setting."""

    code = "invalid_run_setting"


class InvalidComparison(SearchError):
    """The two runs have nothing in common to compare."""

    code = "invalid_comparison"
    status = 422


class StaleCursor(SearchError):
    """The list that a cursor points into is gone; send the query again."""

    code = "stale_cursor"
    status = 410


class OutOfTime(SearchError):
    """The time limit of a bulk request passed before this query's turn; send it again, with fewer others."""

    code = "timeout"
    status = 503


class NotSearchableYet(SearchError):
    """The mirror did not reach the requested change in time; retry after `retry_after_s` seconds."""

    code = "not_searchable_yet"
    status = 503

    def __init__(self, message: str, *, retry_after_s: int = 1) -> None:
        super().__init__(message)
        self.retry_after_s = retry_after_s


class EmbedderUnavailable(SearchError):
    """Texts can't be embedded now, or the model lacks the query's language; names no address, key or text.

    With `is_lasting` a retry fails until somebody changes the configuration; else it may succeed, after
    `retry_after_s` seconds if the embedder named a delay. Without `is_fault` the embedder is healthy: it
    refused the request itself.
    """

    code = "embedder_unavailable"
    status = 503

    def __init__(
        self,
        message: str,
        *,
        is_lasting: bool = False,
        retry_after_s: float | None = None,
        is_fault: bool = True,
    ) -> None:
        super().__init__(message)
        self.is_lasting = is_lasting
        self.retry_after_s = retry_after_s
        self.is_fault = is_fault


class RerankerUnavailable(SearchError):
    """There are no rerank scores now; the message names no query, address or path, `remedy` may, for logs.

    Without `is_fault` the reranker is healthy: it refused the request itself, or is still loading.
    """

    code = "reranker_unavailable"
    status = 503

    def __init__(self, message: str, *, remedy: str = "", is_fault: bool = True) -> None:
        super().__init__(message)
        self.remedy = remedy
        self.is_fault = is_fault
