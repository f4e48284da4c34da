"""The chunks of a workspace, as input for every peer."""

from dataclasses import dataclass
from typing import Self

import numpy as np

from kebab.identity.models import Workspace
from search.models import Chunk, ChunkVector
from search.vectors.spaces import live_space


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Corpus:
    """Chunks that have a vector, in id order."""

    #: 32 hex digits each.
    chunk_ids: list[str]
    breadcrumbs: list[str]
    texts: list[str]
    #: (n, dim) float32, of length 1 as they are stored.
    vectors: np.ndarray

    @classmethod
    def of(cls, workspace: Workspace) -> Self:
        """Read the workspace's chunks and their vectors in its live space."""
        space = live_space(workspace)
        dim = 0 if space is None else space.dim
        vectors = ChunkVector.objects.in_workspace(workspace).filter(space=space and space.space_id)
        stored = {
            chunk_id: np.asarray(vector, np.float32)
            for chunk_id, vector in vectors.values_list("chunk_id", "embedding").iterator()
        }
        chunks = Chunk.objects.in_workspace(workspace).order_by("chunk_id")
        rows = [
            row for row in chunks.values_list("chunk_id", "breadcrumb", "text").iterator() if row[0] in stored
        ]
        matrix = np.empty((len(rows), dim), np.float32)
        for number, (chunk_id, _, _) in enumerate(rows):
            matrix[number] = stored[chunk_id]
        return cls(
            chunk_ids=[chunk_id.hex for chunk_id, _, _ in rows],
            breadcrumbs=[breadcrumb for _, breadcrumb, _ in rows],
            texts=[text for _, _, text in rows],
            vectors=matrix,
        )

    def __len__(self) -> int:
        return len(self.chunk_ids)

    @property
    def passages(self) -> list[str]:
        """Return breadcrumb and text as one, for peers that have one field."""
        return [
            f"{breadcrumb}\n{text}" for breadcrumb, text in zip(self.breadcrumbs, self.texts, strict=True)
        ]
