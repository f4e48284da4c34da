"""The vector leg: the query's embedding against the workspace's live space."""

import logging
import uuid
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import cached_property, lru_cache

import numpy as np
from django.db import OperationalError

from search.access.scope import SearchScope
from search.embedders.base import Embedder
from search.embedders.query_language import knows_language
from search.metrics import stage
from search.retrieval.errors import EmbedderUnavailable, LegTimeout
from search.retrieval.fusion.score_scales import vector_score
from search.retrieval.query.parser import parse_query
from search.retrieval.types import Candidate
from search.vectors.nearest import QueryPoint, nearest_chunks
from search.vectors.spaces import REMEDY, LiveSpace, describe_mismatch
from search.vectors.vector_rows import MOST_PLACED, decode_vectors

logger = logging.getLogger(__name__)


class VectorLeg:
    """The vector search of one query in one workspace; runs in the calling thread."""

    def __init__(
        self,
        space: LiveSpace | None,
        scope: SearchScope,
        text: str,
        embedder: Embedder | None,
        *,
        requires_known_language: bool = False,
        compares_candidates: bool = False,
    ) -> None:
        """Create the leg.

        With `requires_known_language` it is disabled where the model doesn't know the query's language. With
        `compares_candidates` it also scores candidates of other legs, and returns vectors of all candidates.
        """
        self._scope = scope
        parsed = parse_query(text)
        # FTS5 syntax means nothing to a model, but the text inside its quotes may.
        self._text = "" if parsed.is_empty else parsed.raw or text
        self._embedder = embedder
        self.space = space
        self._compares_candidates = compares_candidates
        #: The query's point for comparing other candidates, set by `search`.
        self.point: QueryPoint | None = None
        self._similarities: dict[str, float] = {}
        self._places: dict[str, bytes] = {}
        self._requires_known_language = requires_known_language
        #: The message that the stored vectors are another model's than this process embeds queries with.
        self.mismatch = describe_mismatch(space, None if embedder is None else embedder.space)
        if self.mismatch is not None:
            _warn_once(scope.workspace_id, self.mismatch)

    @cached_property
    def disabled_reason(self) -> str | None:
        """Return the reason why the leg is disabled for this query, None if it isn't; needs no I/O."""
        if self._embedder is None:
            return "No embedder is configured; set KEBAB_EMBEDDER."
        if self.mismatch is not None:
            return self.mismatch
        model, share = self._embedder.space, self.space.known_share if self.space else None
        if self._requires_known_language and self._text and not knows_language(model, self._text, share):
            return f"{model.model} knows {', '.join(model.languages)}; the query is in another language."
        return None

    def search(self, limit: int) -> list[Candidate]:
        """Return up to `limit` candidates by cosine, then id. Raises EmbedderUnavailable, LegTimeout."""
        query_vector = self._query_vector()
        if query_vector is None or self.space is None:
            return []
        point = QueryPoint(self.space, query_vector)
        with_places = self._compares_candidates and limit <= MOST_PLACED
        with _timeouts():
            nearest = nearest_chunks(self._scope, point, limit=limit, with_places=with_places)
        self.point = point if self._compares_candidates else None
        self._places |= {near.chunk_id: near.place for near in nearest if near.place is not None}
        return [Candidate(chunk_id=near.chunk_id, score=vector_score(near.similarity)) for near in nearest]

    def add_scores(self, similarities: Mapping[str, float], places: Mapping[str, bytes]) -> None:
        """Add similarities and encoded vectors of chunks, by chunk id, from another statement."""
        self._similarities.update(similarities)
        self._places.update(places)

    def without_vector(self, chunk_ids: Sequence[str]) -> list[str]:
        """Return those of `chunk_ids` whose vectors are not known."""
        return [id_ for id_ in chunk_ids if id_ not in self._places]

    def score(self, chunk_ids: Sequence[str]) -> dict[str, float]:
        """Return the leg's score of those of `chunk_ids` whose similarities were added."""
        return {id_: vector_score(self._similarities[id_]) for id_ in chunk_ids if id_ in self._similarities}

    def vectors(self, chunk_ids: Sequence[str]) -> dict[str, np.ndarray]:
        """Return the vectors, `(dim,)` each, of those of `chunk_ids` whose vectors are known."""
        return decode_vectors({id_: self._places[id_] for id_ in chunk_ids if id_ in self._places})

    def _query_vector(self) -> np.ndarray | None:
        if not self._text:
            return None
        if self._embedder is None or self.disabled_reason is not None:
            raise EmbedderUnavailable(self.disabled_reason or "")
        if self.space is None:
            return None
        with stage("embed_query"):
            return self._embedder.embed_query(self._text)


@lru_cache(maxsize=1_024)
def _warn_once(workspace_id: uuid.UUID, mismatch: str) -> None:
    """Log a mismatch once per workspace, not with every query."""
    logger.warning("workspace %s: %s %s", workspace_id, mismatch, REMEDY)


@contextmanager
def _timeouts() -> Iterator[None]:
    try:
        yield
    except OperationalError as error:
        if "statement timeout" not in str(error):
            raise
        raise LegTimeout("The vector leg ran out of time.") from error
