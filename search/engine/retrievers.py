"""Retrievers of a workspace. Each gets its workspace and its reader when it is made, and keeps to them."""

import logging
from dataclasses import replace
from typing import ClassVar

from kebab.people.models import Workspace
from kebab.people.reader import Reader
from search.embedders.configured import embedder_for_queries
from search.engine.search import index_version, search
from search.retrieval.types import Mode, SearchHit, SearchQuery
from search.vectors.spaces import REMEDY, live_space, mismatch

logger = logging.getLogger(__name__)


class _WorkspaceRetriever:
    """Answers in one mode, whatever mode the query names."""

    mode: ClassVar[Mode]

    def __init__(self, workspace: Workspace, reader: Reader) -> None:
        self._workspace = workspace
        self._reader = reader
        #: That the vectors are another model's than queries are embedded with, which is logged as well.
        self.mismatch = None if self.mode is Mode.LEXICAL else _mismatch(workspace)
        if self.mismatch is not None:
            logger.warning("workspace %s: %s %s", workspace.pk, self.mismatch, REMEDY)

    def search(self, query: SearchQuery) -> list[SearchHit]:
        """Give up to `query.k` hits, best first, ranks 1, 2, 3, …"""
        return list(search(self._workspace, replace(query, mode=self.mode), reader=self._reader).hits)

    def index_version(self, mode: Mode) -> str:
        """Return the name of what produced the index, or both indexes, that answer in `mode`."""
        return index_version(self._workspace, mode)


class LexicalRetriever(_WorkspaceRetriever):
    """Finds chunks by their words."""

    mode = Mode.LEXICAL


class VectorRetriever(_WorkspaceRetriever):
    """Finds chunks by their meaning."""

    mode = Mode.VECTOR


class HybridRetriever(_WorkspaceRetriever):
    """Finds chunks by words and meaning, fused."""

    mode = Mode.HYBRID


class RerankedRetriever(HybridRetriever):
    """Finds chunks by words and meaning; a reranker, where one is configured, orders the first 60 again."""

    def search(self, query: SearchQuery) -> list[SearchHit]:
        """Give up to `query.k` hits, 60 at most, best first, ranks 1, 2, 3, …"""
        return super().search(replace(query, rerank=True))


def _mismatch(workspace: Workspace) -> str | None:
    space = live_space(workspace)
    embedder = embedder_for_queries(workspace, space)
    return mismatch(space, None if embedder is None else embedder.space)
