"""The corpus of a search: its mirror, its vectors, and the chunks that its reader may see."""

from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from typing import TypeVar

import apsw
import numpy as np
from django.conf import settings

from kebab.identity.models import Workspace
from kebab.runtime import failpoints
from search.access.scope import SearchScope
from search.engine.readback import read_visible
from search.metrics import stage
from search.mirror import local_mirrors
from search.mirror.files import MirrorError
from search.mirror.query.view import MirrorSource, MirrorView
from search.retrieval.fusion.copies import CopyKeys
from search.vectors.nearest import Nearest, QueryPoint, nearest_chunks

T = TypeVar("T")

# Chunks that PostgreSQL finds by their ids to compare their vectors.
_MAX_PASSING = 20_000


class Corpus:
    """Data that a search under one scope reads: a workspace in Postgres, with its mirror on this node."""

    def __init__(self, workspace: Workspace, scope: SearchScope, *, trusts_mirror: bool = True) -> None:
        """With `trusts_mirror` a mirror at the head of the log says which chunks are visible."""
        self.workspace = workspace
        self.scope = scope
        self.trusts_mirror = trusts_mirror
        self._mirror = mirror_source(workspace, scope)
        #: The mirror while it is open.
        self.view: MirrorView | None = None

    @contextmanager
    def open_mirror(self, *, may_build: bool = True) -> Iterator[MirrorView]:
        """Open the mirror; built within a limit if there is none and it may be. Raises MirrorError.

        Until it is closed, the other methods read this view, too, in the same thread.
        """
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
            self.view = view
            stack.callback(setattr, self, "view", None)
            yield view

    def without_view(self) -> "Corpus":
        """Return the corpus for a thread beside the one that reads the open view."""
        return Corpus(self.workspace, self.scope, trusts_mirror=self.trusts_mirror)

    def is_current(self, view: MirrorView) -> bool:
        """Return whether the mirror shows the head of the log that the scope saw, and is trusted."""
        if not failpoints.is_on("readback"):
            return True
        return self.trusts_mirror and view.position == self.scope.head

    def check_visible(self, ids: np.ndarray) -> np.ndarray:
        """Return which of the chunks are visible: by the mirror if it is current, else by Postgres."""
        found: np.ndarray | None = None
        if self.trusts_mirror:
            found = self._read(lambda view: view.check_visible(ids) if self.is_current(view) else None)
        return read_visible(self.scope, ids) if found is None else found

    def copy_keys(self, ids: np.ndarray) -> CopyKeys | None:
        """Return the keys that tell copies among chunks; None without a mirror."""
        return self._read(lambda view: view.copy_keys(ids))

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

        def read(view: MirrorView) -> np.ndarray | None:
            if not self.is_current(view) or np.count_nonzero(view.passes) > _MAX_PASSING:
                return None
            passing: np.ndarray = view.collection.chunks.ids[np.flatnonzero(view.passes)]
            return passing

        return self._read(read)

    def _read(self, read: Callable[[MirrorView], T]) -> T | None:
        """Return what `read` returns; None without a mirror, or when the time of a leg is up.

        Raises MirrorError for the mirror that is open: whoever opened it goes on without.
        """
        try:
            if self.view is None:
                with self._mirror.open_for_leg() as view:
                    return read(view)
            with self.view.limited_time():
                return read(self.view)
        except apsw.InterruptError:
            return None
        except MirrorError:
            if self.view is not None:
                raise
            return None


def mirror_source(workspace: Workspace, scope: SearchScope) -> MirrorSource:
    """Return this node's mirror for a query under `scope`."""
    limit_s = settings.KEBAB_LEG_LIMIT_MS / 1000
    files = local_mirrors.mirror_files(workspace.pk)
    return MirrorSource(files, local_mirrors.reader_pool(), scope, limit_s=limit_s)
