"""The vector leg: the query's embedding against the workspace's live space."""

import logging
import uuid
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from functools import cached_property, lru_cache

import numpy as np
from django.db import OperationalError

from search.embedders.base import Embedder
from search.language import knows_language
from search.retrieval.errors import EmbedderUnavailable, LegTimeout
from search.retrieval.match import parse_query
from search.retrieval.score import vector_score
from search.retrieval.types import Candidate
from search.scope import Scope
from search.vectors.nearest import nearest_chunks, similarities
from search.vectors.spaces import REMEDY, LiveSpace, mismatch

logger = logging.getLogger(__name__)


class VectorLeg:
    """One query against the vectors of one workspace, in the thread that calls it."""

    def __init__(
        self,
        space: LiveSpace | None,
        scope: Scope,
        text: str,
        embedder: Embedder | None,
        *,
        minds_language: bool = False,
    ) -> None:
        """With `minds_language` it takes no part where the model doesn't know the query's language."""
        self._scope = scope
        parsed = parse_query(text)
        # FTS5 syntax means nothing to a model; what is inside its quotes may. Without a word nothing does.
        self._text = "" if parsed.is_empty else parsed.raw or text
        self._embedder = embedder
        self.space = space
        self._minds_language = minds_language
        #: That the stored vectors are another model's than this process embeds queries with.
        self.mismatch = mismatch(space, None if embedder is None else embedder.space)
        if self.mismatch is not None:
            _warn_once(scope.workspace_id, self.mismatch)

    @cached_property
    def off_because(self) -> str | None:
        """Say why the leg takes no part in this query, which it finds out without asking anything."""
        if self._embedder is None:
            return "No embedder is configured; set KEBAB_EMBEDDER."
        if self.mismatch is not None:
            return self.mismatch
        model, share = self._embedder.space, self.space.known_share if self.space else None
        if self._minds_language and self._text and not knows_language(model, self._text, share):
            return f"{model.model} knows {', '.join(model.languages)}; the query is in another language."
        return None

    def search(self, limit: int) -> list[Candidate]:
        """Give up to `limit` candidates by cosine, then chunk id. Raises EmbedderUnavailable, LegTimeout."""
        query_vector = self._query_vector()
        if query_vector is None or self.space is None:
            return []
        with _timeouts():
            nearest = nearest_chunks(self._scope, self.space, query_vector, limit=limit)
        return [Candidate(chunk_id=id_.hex, score=vector_score(cosine)) for id_, cosine in nearest]

    def score(self, chunk_ids: Sequence[str]) -> dict[str, float]:
        """Give the leg's score of those of `chunk_ids` that have a vector. Raises as `search` does."""
        query_vector = self._query_vector()
        if query_vector is None or self.space is None:
            return {}
        with _timeouts():
            cosines = similarities(self._scope, self.space, query_vector, chunk_ids)
        return {chunk_id: vector_score(cosine) for chunk_id, cosine in cosines.items()}

    def _query_vector(self) -> np.ndarray | None:
        if not self._text:
            return None
        if self._embedder is None or self.off_because is not None:
            raise EmbedderUnavailable(self.off_because or "")
        return None if self.space is None else self._embedder.embed_query(self._text)


@lru_cache(maxsize=1_024)
def _warn_once(workspace_id: uuid.UUID, mismatch: str) -> None:
    """Log it with the first query that meets it, not with all that follow."""
    logger.warning("workspace %s: %s %s", workspace_id, mismatch, REMEDY)


@contextmanager
def _timeouts() -> Iterator[None]:
    try:
        yield
    except OperationalError as error:
        if "statement timeout" not in str(error):
            raise
        raise LegTimeout("The vector leg ran out of time.") from error
