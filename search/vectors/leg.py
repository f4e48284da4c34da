"""The vector leg: the query's embedding against the workspace's live space."""

import logging
import uuid
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import cached_property, lru_cache

import numpy as np
from django.db import OperationalError

from search.access.scope import Scope
from search.embedders.base import Embedder
from search.embedders.query_language import knows_language
from search.metrics import stage
from search.retrieval.errors import EmbedderUnavailable, LegTimeout
from search.retrieval.fusion.score_scales import vector_score
from search.retrieval.query.match import parse_query
from search.retrieval.types import Candidate
from search.vectors.nearest import QueryPoint, nearest_chunks
from search.vectors.spaces import REMEDY, LiveSpace, mismatch
from search.vectors.vector_rows import MOST_PLACED, vectors_of

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
        is_compared: bool = False,
    ) -> None:
        """With `minds_language` it takes no part where the model doesn't know the query's language.

        With `is_compared` it says of other legs' candidates how near they are, and where all of them lie.
        """
        self._scope = scope
        parsed = parse_query(text)
        # FTS5 syntax means nothing to a model; what is inside its quotes may. Without a word nothing does.
        self._text = "" if parsed.is_empty else parsed.raw or text
        self._embedder = embedder
        self.space = space
        self._is_compared = is_compared
        #: What other candidates are compared with, once a search has found what is near.
        self.point: QueryPoint | None = None
        self._noted: dict[str, float] = {}
        self._places: dict[str, bytes] = {}
        self._minds_language = minds_language
        #: That the stored vectors are another model's than this process embeds queries with.
        self.mismatch = mismatch(space, None if embedder is None else embedder.space)
        if self.mismatch is not None:
            _warn_once(scope.workspace_id, self.mismatch)

    @cached_property
    def off_because(self) -> str | None:
        """Return why the leg takes no part in this query, which it finds out without asking anything."""
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
        point = QueryPoint(self.space, query_vector)
        with_places = self._is_compared and limit <= MOST_PLACED
        with _timeouts():
            nearest = nearest_chunks(self._scope, point, limit=limit, with_places=with_places)
        self.point = point if self._is_compared else None
        self._places |= {near.chunk_id: near.place for near in nearest if near.place is not None}
        return [Candidate(chunk_id=near.chunk_id, score=vector_score(near.similarity)) for near in nearest]

    def note(self, similarities: Mapping[str, float], places: Mapping[str, bytes]) -> None:
        """Take over how near chunks are, and where, from another statement, by chunk id."""
        self._noted.update(similarities)
        self._places.update(places)

    def without_place(self, chunk_ids: Sequence[str]) -> list[str]:
        """Return those of which it isn't known where they lie."""
        return [id_ for id_ in chunk_ids if id_ not in self._places]

    def score(self, chunk_ids: Sequence[str]) -> dict[str, float]:
        """Return the leg's score of those of `chunk_ids` that were noted."""
        return {id_: vector_score(self._noted[id_]) for id_ in chunk_ids if id_ in self._noted}

    def vectors(self, chunk_ids: Sequence[str]) -> dict[str, np.ndarray]:
        """Return the vectors, `(dim,)` each, of those of `chunk_ids` whose places were noted."""
        return vectors_of({id_: self._places[id_] for id_ in chunk_ids if id_ in self._places})

    def _query_vector(self) -> np.ndarray | None:
        if not self._text:
            return None
        if self._embedder is None or self.off_because is not None:
            raise EmbedderUnavailable(self.off_because or "")
        if self.space is None:
            return None
        with stage("embed_query"):
            return self._embedder.embed_query(self._text)


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
