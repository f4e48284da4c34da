"""The vector leg: the query's embedding against the workspace's live space."""

from django.db import OperationalError

from search.embedders.base import Embedder
from search.retrieval.errors import EmbedderUnavailable, LegTimeout
from search.retrieval.match import parse_query
from search.retrieval.score import vector_score
from search.retrieval.types import Candidate
from search.scope import Scope
from search.vectors.nearest import nearest_chunks
from search.vectors.spaces import LiveSpace


class VectorLeg:
    """One query against the vectors of one workspace, in the thread that calls it."""

    def __init__(self, space: LiveSpace | None, scope: Scope, text: str, embedder: Embedder | None) -> None:
        self._scope = scope
        parsed = parse_query(text)
        # FTS5 syntax means nothing to a model; what is inside its quotes may. Without a word nothing does.
        self._text = "" if parsed.is_empty else parsed.raw or text
        self._embedder = embedder
        self.space = space

    @property
    def mismatch(self) -> str | None:
        """Say that the stored vectors are another model's than this process embeds queries with."""
        if self.space is None or self._embedder is None or self.space.is_made_by(self._embedder.space):
            return None
        return (
            f"The vectors are {self.space.model}@{self.space.revision}'s, queries would be"
            f" {self._embedder.space.model}@{self._embedder.space.revision}'s: the vector leg is off."
        )

    def search(self, limit: int) -> list[Candidate]:
        """Give up to `limit` candidates by cosine, then chunk id. Raises EmbedderUnavailable, LegTimeout."""
        if not self._text:
            return []
        if self._embedder is None:
            raise EmbedderUnavailable("No embedder is configured; set KEBAB_EMBEDDER.")
        if self.mismatch is not None:
            raise EmbedderUnavailable(self.mismatch)
        if self.space is None:
            return []
        query_vector = self._embedder.embed_query(self._text)
        try:
            nearest = nearest_chunks(self._scope, self.space, query_vector, limit=limit)
        except OperationalError as error:
            if "statement timeout" not in str(error):
                raise
            raise LegTimeout("The vector leg ran out of time.") from error
        return [Candidate(chunk_id=id_.hex, score=vector_score(cosine)) for id_, cosine in nearest]
