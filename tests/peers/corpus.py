"""The chunks of a workspace, as every peer is given them."""

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from kebab.people.models import Workspace
from search.models import Chunk, ChunkVector
from search.vectors.spaces import live_space


@dataclass(frozen=True)
class Corpus:
    """Chunks in id order, with their vectors where they have one."""

    workspace: Workspace

    @cached_property
    def rows(self) -> list[tuple[str, str, str]]:
        """(chunk id, breadcrumb, text)."""
        chunks = Chunk.objects.in_workspace(self.workspace).order_by("chunk_id")
        return [
            (id_.hex, breadcrumb, text)
            for id_, breadcrumb, text in chunks.values_list("chunk_id", "breadcrumb", "text").iterator()
        ]

    @cached_property
    def vectors(self) -> dict[str, np.ndarray]:
        """(dim,) float32 by chunk id."""
        space = live_space(self.workspace)
        if space is None:
            return {}
        vectors = ChunkVector.objects.in_workspace(self.workspace).filter(space=space.space_id)
        return {
            id_.hex: np.asarray(vector, np.float32)
            for id_, vector in vectors.values_list("chunk_id", "embedding").iterator()
        }
