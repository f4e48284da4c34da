"""Retrievers by mode. Each searches one workspace for one reader, both fixed at construction."""

import logging
from dataclasses import replace
from typing import ClassVar

from kebab.identity.models import Workspace
from kebab.identity.reader import Reader
from search.embedders.configured import embedder_for_queries
from search.engine.search import index_version, search
from search.retrieval.types import Mode, SearchHit, SearchQuery
from search.vectors.spaces import REMEDY, describe_mismatch, live_space

logger = logging.getLogger(__name__)


class _WorkspaceRetriever:
    """A retriever with a fixed mode, whatever mode the query names."""

    mode: ClassVar[Mode]

    def __init__(self, workspace: Workspace, reader: Reader) -> None:
        self._workspace = workspace
        self._reader = reader
        #: The message if vectors and queries are embedded with different models; it is logged as well.
        self.mismatch = None if self.mode is Mode.LEXICAL else _mismatch(workspace)
        if self.mismatch is not None:
            logger.warning("workspace %s: %s %s", workspace.pk, self.mismatch, REMEDY)

    def search(self, query: SearchQuery) -> list[SearchHit]:
        """Return up to `query.k` hits, best first, ranks 1, 2, 3, …"""
        return list(search(self._workspace, replace(query, mode=self.mode), reader=self._reader).hits)

    def index_version(self, mode: Mode) -> str:
        """Return the version of the index, or of both indexes, that answers in `mode`."""
        return index_version(self._workspace, mode)


class LexicalRetriever(_WorkspaceRetriever):
    """A retriever that finds chunks by their words."""

    mode = Mode.LEXICAL


class VectorRetriever(_WorkspaceRetriever):
    """A retriever that finds chunks by their meaning."""

    mode = Mode.VECTOR


class HybridRetriever(_WorkspaceRetriever):
    """A retriever that fuses search by words and by meaning."""

    mode = Mode.HYBRID


class RerankedRetriever(HybridRetriever):
    """A hybrid retriever whose first 60 hits are reordered by the reranker, if one is configured."""

    def search(self, query: SearchQuery) -> list[SearchHit]:
        """Return up to `query.k` hits, 60 at most, best first, ranks 1, 2, 3, …"""
        return super().search(replace(query, rerank=True))


def _mismatch(workspace: Workspace) -> str | None:
    space = live_space(workspace)
    embedder = embedder_for_queries(workspace, space)
    return describe_mismatch(space, None if embedder is None else embedder.space)
