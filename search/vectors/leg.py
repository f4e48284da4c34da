"""The vector leg: the query's embedding against the workspace's live space."""

import logging
import uuid
from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property, lru_cache
from typing import ClassVar

import numpy as np
from django.db import OperationalError

from search.embedders.base import Embedder
from search.embedders.query_language import knows_language
from search.metrics import DEGRADED, LEG_SECONDS, stage
from search.retrieval.deadline import is_over
from search.retrieval.errors import EmbedderUnavailable
from search.retrieval.fusion.legs import LegName, LegResult
from search.retrieval.fusion.scores import vector_scores
from search.retrieval.query.parser import parse_query
from search.vectors.nearest import Nearest, QueryPoint, Vectors
from search.vectors.spaces import REMEDY, LiveSpace, describe_mismatch

logger = logging.getLogger(__name__)

#: Returns up to this number of chunks nearest to a point.
FindNearest = Callable[[QueryPoint, int], Nearest]


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class VectorResult(LegResult):
    """The candidates of the vector leg, by cosine, then id."""

    #: None when nothing was compared.
    point: QueryPoint | None = None
    store: Vectors | None = None

    @property
    def can_score(self) -> bool:
        """Return whether a query was compared."""
        return self.store is not None

    @property
    def has_vectors(self) -> bool:
        """Return whether a query was compared."""
        return self.store is not None

    def score(self, ids: np.ndarray) -> np.ndarray:
        """Return the scores of any chunks."""
        if self.point is None or self.store is None:
            return LegResult.score(self, ids)
        return vector_scores(self.store.similarities(ids, self.point.half))

    def vectors(self, ids: np.ndarray) -> np.ndarray:
        """Return the vectors of any chunks."""
        return LegResult.vectors(self, ids) if self.store is None else self.store.vectors(ids)


_OFF = VectorResult(is_complete=False, is_available=False)


class VectorLeg:
    """The vector search of one query in one workspace."""

    name: ClassVar[LegName] = "vector"
    weight: ClassVar[float] = 1.0
    #: It uses the thread's database connection.
    runs_in_calling_thread: ClassVar[bool] = True
    is_skipped_when_empty: ClassVar[bool] = False

    def __init__(
        self,
        space: LiveSpace | None,
        text: str,
        embedder: Embedder | None,
        find_nearest: FindNearest,
        *,
        requires_known_language: bool = False,
        is_checked: bool = False,
    ) -> None:
        """Create the leg; `is_checked` says that what `find_nearest` finds is visible.

        With `requires_known_language` it is disabled where the model doesn't know the query's language.
        """
        self.is_checked = is_checked
        parsed = parse_query(text)
        # FTS5 syntax means nothing to a model, but the text inside its quotes may.
        self._text = "" if parsed.is_empty else parsed.raw or text
        self._embedder = embedder
        self._find_nearest = find_nearest
        self._requires_known_language = requires_known_language
        self.space = space
        #: The message that the stored vectors are another model's than this process embeds queries with.
        self.mismatch = describe_mismatch(space, None if embedder is None else embedder.space)

    @property
    def crosses_languages(self) -> bool:
        """Return whether it finds passages in other languages than the query's."""
        return self.space is not None and self.space.crosses_languages

    @cached_property
    def disabled_reason(self) -> str | None:
        """Return the reason why the leg is disabled for this query, None if it isn't; needs no I/O."""
        if self._embedder is None:
            return "No embedder is configured; set KEBAB_EMBEDDER."
        if self.mismatch is not None:
            return self.mismatch
        return self.language_message

    @cached_property
    def language_message(self) -> str | None:
        """Return the message that the leg is disabled because of the query's language, None if it isn't."""
        if self._embedder is None or not self._requires_known_language or not self._text:
            return None
        model, share = self._embedder.space, self.space.known_share if self.space else None
        if knows_language(model, self._text, share):
            return None
        known = ", ".join(model.languages)
        return f"The query seems to be in another language than {model.model} knows ({known})."

    def search(self, limit: int) -> VectorResult:
        """Return up to `limit` candidates; none when no embedder is available, or the time is up."""
        if is_over():
            DEGRADED.add(self.name, "out_of_time")
            return _OFF
        with stage(self.name, LEG_SECONDS):
            try:
                vector = self._query_vector()
                if vector is None or self.space is None:
                    return VectorResult()
                point = QueryPoint(self.space, vector)
                found = self._find_nearest(point, limit)
            except EmbedderUnavailable:
                is_late = not self.disabled_reason and is_over()
                DEGRADED.add(
                    self.name, "out_of_time" if is_late else "off" if self.disabled_reason else "unavailable"
                )
                return _OFF
            except OperationalError as error:
                if "statement timeout" not in str(error):
                    raise
                DEGRADED.add(self.name, "out_of_time")
                return _OFF
            scores = vector_scores(found.similarities)
            return VectorResult(ids=found.ids, scores=scores, point=point, store=found.vectors)

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
def warn_of_mismatch(workspace_id: uuid.UUID, mismatch: str) -> None:
    """Log a mismatch once per workspace, not with every query."""
    logger.warning("workspace %s: %s %s", workspace_id, mismatch, REMEDY)
