"""The corpus of a search: its mirror, its vectors, and the chunks that its reader may see."""

from collections.abc import Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, ExitStack, contextmanager
from typing import Any, Protocol

import apsw
import numpy as np
from django.conf import settings

from kebab.people.models import Workspace
from kebab.runtime import failpoints
from search.access.scope import SearchScope
from search.engine.readback import (
    VisibleChunk,
    read_documents,
    read_first_chunks,
    read_hits,
    read_metadata,
    read_passages,
    read_sort_keys,
    read_visible,
)
from search.engine.why_not import SearchOutcome, WhyNotVerdict, explain_absence
from search.metrics import stage
from search.mirror import local_mirrors
from search.mirror.errors import MirrorError
from search.mirror.query.view import MirrorSource, MirrorView
from search.retrieval.fusion.copies import CopyKeys
from search.retrieval.fusion.reorder import PinnedDocument, SortKeys
from search.vectors.nearest import Nearest, QueryPoint, nearest_chunks

# Chunks that PostgreSQL finds by their ids to compare their vectors.
_MAX_PASSING = 20_000


class Corpus(Protocol):
    """Data that a search under one scope reads."""

    @property
    def workspace(self) -> Workspace:
        """Return the workspace."""
        ...

    @property
    def scope(self) -> SearchScope:
        """Return the scope."""
        ...

    def open_mirror(self, *, may_build: bool = True) -> AbstractContextManager[MirrorView]:
        """Open the index of its words, built if it is absent and may be. Raises MirrorError."""
        ...

    def is_current(self, view: MirrorView) -> bool:
        """Return whether the index shows what was visible when the scope was resolved."""
        ...

    @property
    def checks_all(self) -> bool:
        """Return whether all candidates are checked, whatever the index shows."""
        ...

    def check_visible(self, ids: np.ndarray) -> np.ndarray:
        """Return (m,) bool: which of the chunks, (m,) ID, are visible."""
        ...

    def copy_keys(self, ids: np.ndarray) -> CopyKeys | None:
        """Return the keys that tell copies among chunks; None if there is no index."""
        ...

    def find_nearest(self, point: QueryPoint, limit: int) -> Nearest:
        """Return up to `limit` visible chunks nearest to `point`."""
        ...

    def read_hits(self, chunk_ids: Sequence[str]) -> Mapping[str, VisibleChunk]:
        """Return the visible ones of the chunks, with the fields of hits, by id."""
        ...

    def read_passages(self, chunk_ids: Sequence[str]) -> Mapping[str, tuple[str, str]]:
        """Return breadcrumb and text of the visible ones of the chunks, by id."""
        ...

    def read_documents(self, chunk_ids: Sequence[str]) -> Mapping[str, int]:
        """Return a key of the document of each of the visible ones of the chunks, by chunk id."""
        ...

    def read_sort_keys(self, chunk_ids: Sequence[str]) -> Mapping[str, SortKeys]:
        """Return title and date of the documents of the visible ones of the chunks, by chunk id."""
        ...

    def read_first_chunks(self, doc_ids: Sequence[str]) -> Mapping[str, PinnedDocument]:
        """Return the visible ones of the documents with their first chunks, by id."""
        ...

    def read_metadata(self, doc_ids: Sequence[str]) -> Mapping[str, Mapping[str, Any]]:
        """Return the metadata of the visible ones of the documents, by id."""
        ...

    def explain_absence(self, target: str, outcome: SearchOutcome) -> WhyNotVerdict | None:
        """Return why a chunk or document, 32 hex digits, is not among the hits; None if that is not known."""
        ...


class PostgresCorpus:
    """A workspace in Postgres, with its mirror on this node."""

    def __init__(self, workspace: Workspace, scope: SearchScope, *, trusts_mirror: bool = True) -> None:
        """With `trusts_mirror` a mirror at the head of the log says which chunks are visible."""
        self.workspace = workspace
        self.scope = scope
        self._trusts_mirror = trusts_mirror
        self._mirror = mirror_source(workspace, scope)

    @contextmanager
    def open_mirror(self, *, may_build: bool = True) -> Iterator[MirrorView]:
        """Open the mirror; built within a limit if there is none and it may be. Raises MirrorError."""
        local_mirrors.record_use(self.scope)
        with ExitStack() as stack:
            try:
                view = stack.enter_context(self._mirror.open())
            except MirrorError:
                if not may_build:
                    raise
                with stage("mirror"):
                    local_mirrors.ensure_mirror(self.workspace.pk, self.scope.head_seq)
                view = stack.enter_context(self._mirror.open())
            yield view

    @property
    def checks_all(self) -> bool:
        """Return whether all candidates are checked in Postgres."""
        return not self._trusts_mirror

    def is_current(self, view: MirrorView) -> bool:
        """Return whether the mirror shows the head of the log that the scope saw, and is trusted."""
        if not failpoints.is_on("readback"):
            return True
        return self._trusts_mirror and view.seq == self.scope.head_seq

    def check_visible(self, ids: np.ndarray) -> np.ndarray:
        """Return which of the chunks are visible: by the mirror if it is current, else by Postgres."""
        try:
            if not self._trusts_mirror:
                return read_visible(self.scope, ids)
            with self._mirror.open_for_leg() as view:
                if self.is_current(view):
                    return view.check_visible(ids)
        except (MirrorError, apsw.InterruptError):
            pass
        return read_visible(self.scope, ids)

    def copy_keys(self, ids: np.ndarray) -> CopyKeys | None:
        """Return the keys that tell copies among chunks; None without a mirror."""
        try:
            with self._mirror.open_for_leg() as view:
                return view.copy_keys(ids)
        except (MirrorError, apsw.InterruptError):
            return None

    def find_nearest(self, point: QueryPoint, limit: int) -> Nearest:
        """Return up to `limit` visible chunks nearest to `point`."""
        return nearest_chunks(
            self.scope,
            point,
            limit=limit,
            check_visible=self.check_visible,
            find_passing=self._find_passing,
        )

    def _find_passing(self) -> np.ndarray | None:
        """Return the ids of the chunks that pass by a current mirror; None without one, or for too many."""
        try:
            with self._mirror.open_for_leg() as view:
                if self.is_current(view) and np.count_nonzero(view.passes) <= _MAX_PASSING:
                    passing: np.ndarray = view.collection.chunks.ids[np.flatnonzero(view.passes)]
                    return passing
        except (MirrorError, apsw.InterruptError):
            pass
        return None

    def read_hits(self, chunk_ids: Sequence[str]) -> Mapping[str, VisibleChunk]:
        """Return the visible ones of the chunks, with the fields of hits, by id."""
        return read_hits(self.scope, chunk_ids)

    def read_passages(self, chunk_ids: Sequence[str]) -> Mapping[str, tuple[str, str]]:
        """Return breadcrumb and text of the visible ones of the chunks, by id."""
        return read_passages(self.scope, chunk_ids)

    def read_documents(self, chunk_ids: Sequence[str]) -> Mapping[str, int]:
        """Return the document keys of the visible ones of the chunks, by chunk id."""
        return read_documents(self.scope, chunk_ids)

    def read_sort_keys(self, chunk_ids: Sequence[str]) -> Mapping[str, SortKeys]:
        """Return title and date of the documents of the visible ones of the chunks, by chunk id."""
        return read_sort_keys(self.scope, chunk_ids)

    def read_first_chunks(self, doc_ids: Sequence[str]) -> Mapping[str, PinnedDocument]:
        """Return the visible ones of the documents with their first chunks, by id."""
        return read_first_chunks(self.scope, doc_ids)

    def read_metadata(self, doc_ids: Sequence[str]) -> Mapping[str, Mapping[str, Any]]:
        """Return the metadata of the visible ones of the documents, by id."""
        return read_metadata(self.scope, doc_ids)

    def explain_absence(self, target: str, outcome: SearchOutcome) -> WhyNotVerdict | None:
        """Return why a chunk or document is not among the hits."""
        return explain_absence(target, self.scope, outcome)


def mirror_source(workspace: Workspace, scope: SearchScope) -> MirrorSource:
    """Return this node's mirror for a query under `scope`."""
    limit_s = settings.KEBAB_LEG_LIMIT_MS / 1000
    files = local_mirrors.mirror_files(workspace.pk)
    return MirrorSource(files, local_mirrors.reader_pool(), scope, limit_s=limit_s)
