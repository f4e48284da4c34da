"""Query channels: what each stage of retrieval is asked, from one request and its technical terms."""

from collections.abc import Iterable
from dataclasses import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class QueryChannels:
    """The query as each stage is asked it."""

    vector: str
    lexical: str
    rerank: str


def build_channels(
    request: str,
    technical_terms: Iterable[str] = (),
    *,
    vector: str | None = None,
    lexical: str | None = None,
    rerank: str | None = None,
) -> QueryChannels:
    """Give the channels: `vector` the request, `lexical` terms then request, `rerank` request then terms.

    Terms are trimmed; blank and repeated ones are dropped, order is kept. A channel that is given stays as
    given.
    """
    request = request.strip()
    trimmed = (term.strip() for term in technical_terms)
    terms = " ".join(dict.fromkeys(term for term in trimmed if term))
    return QueryChannels(
        vector=request if vector is None else vector,
        lexical=f"{terms} {request}".strip() if lexical is None else lexical,
        rerank=f"{request} {terms}".strip() if rerank is None else rerank,
    )
