"""Query channels: the text for each stage of retrieval, from one request and its technical terms."""

from collections.abc import Callable, Iterable
from dataclasses import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class QueryChannels:
    """The text of a query for each stage."""

    vector: str
    lexical: str
    rerank: str

    def map(self, change: Callable[[str], str]) -> "QueryChannels":
        """Return the channels, each changed by `change`."""
        return QueryChannels(
            vector=change(self.vector), lexical=change(self.lexical), rerank=change(self.rerank)
        )


def build_channels(
    request: str,
    technical_terms: Iterable[str] = (),
    *,
    vector: str | None = None,
    lexical: str | None = None,
    rerank: str | None = None,
) -> QueryChannels:
    """Return the channels: `vector` the request, `lexical` terms then request, `rerank` request then terms.

    A channel that is given is unchanged.
    """
    request = request.strip()
    terms = " ".join(distinct_terms(technical_terms))
    return QueryChannels(
        vector=request if vector is None else vector,
        lexical=f"{terms} {request}".strip() if lexical is None else lexical,
        rerank=f"{request} {terms}".strip() if rerank is None else rerank,
    )


def without_syntax(text: str) -> str:
    """Return `text` as plain words for the lexical leg; quotes around the whole would mean FTS5 syntax."""
    return text.strip("' ")


def distinct_terms(technical_terms: Iterable[str]) -> tuple[str, ...]:
    """Return the terms trimmed, blank and repeated ones dropped, in order."""
    trimmed = (term.strip() for term in technical_terms)
    return tuple(dict.fromkeys(term for term in trimmed if term))
