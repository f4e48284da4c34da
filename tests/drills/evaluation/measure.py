"""Share of names whose documentation is among the first hits."""

import re
from collections.abc import Sequence
from dataclasses import dataclass

from kebab.identity.models import Workspace
from search.engine.search import search
from search.models import Chunk
from search.retrieval.types import Mode, SearchHit, SearchQuery
from tests.drills.evaluation.names import Name

#: Hits considered per search, and the rank up to which they count.
_DEPTH = 10
COUNTED = 3


@dataclass(frozen=True, slots=True, kw_only=True)
class NameResult:
    """A name with the rank of the first hit that documents it, from 1; None: not among the first ten."""

    name: Name
    place: int | None

    @property
    def is_found(self) -> bool:
        """Return whether it is among the first three."""
        return self.place is not None and self.place <= COUNTED


def ask_names(workspace: Workspace, names: Sequence[Name], mode: Mode) -> list[NameResult]:
    """Search for each name in `mode`."""
    return [NameResult(name=name, place=_place(workspace, name, mode)) for name in names]


def _place(workspace: Workspace, name: Name, mode: Mode) -> int | None:
    hits = search(workspace, SearchQuery(text=name.query, mode=mode, k=_DEPTH)).hits
    return next((hit.rank for hit in hits if _documents(workspace, hit, name)), None)


def _documents(workspace: Workspace, hit: SearchHit, name: Name) -> bool:
    if not any(_is_same(hit.doc_path, path) for path in name.paths):
        return False
    bare = re.escape(name.query.removesuffix("()"))
    chunks = Chunk.objects.in_workspace(workspace).values_list("breadcrumb", "text")
    breadcrumb, text = chunks.get(chunk_id=hit.chunk_id)
    if name.rule == "heading":
        return re.search(rf"(?<!\w){bare}(?!\w)", f"{hit.title} > {breadcrumb}") is not None
    last = re.escape(name.query.rpartition(".")[2])
    return (
        re.search(rf"(?m)^\s*(?:(?:async +)?def|class) +{last}\b|^{bare} *=|\*\*{bare}\*\*:", text)
        is not None
    )


def _is_same(path: str, other: str) -> bool:
    """Return whether both paths end alike: a corpus' folder may have been indexed alone or with others."""
    return path == other or path.endswith(f"/{other}") or other.endswith(f"/{path}")


def share_found(results: Sequence[NameResult]) -> float:
    """Return the share of found names, in [0, 1]."""
    return sum(one.is_found for one in results) / len(results)
