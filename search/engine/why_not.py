"""At which gate a chunk, or the best chunk of a document, fell on its way into the hits."""

import re
import uuid
from collections.abc import Mapping, Sequence, Set
from dataclasses import dataclass, replace
from enum import IntEnum

from search.access.scope import Scope, conditions
from search.mirror.query.lexical import LexicalLeg
from search.models import Change, Chunk, ChunkVector, Document
from search.retrieval.fusion.pipeline import Ranked
from search.retrieval.fusion.post_fusion import AfterFusion
from search.retrieval.fusion.rrf import Fused
from search.retrieval.query.filters import SearchFilters

# A document with more chunks is judged by its first ones.
_MAX_CHUNKS = 1_000
_ID = re.compile("[0-9a-f]{32}")
# Of the words in `Scope.values`, those that a caller knows by another name.
_FILTER_NAMES = {
    "path": "path_glob",
    "not_path": "path_not_glob",
    "trust": "trust_min",
    "tags": "tags_any",
    "after": "ingested_after",
}


class Gate(IntEnum):
    """Where a chunk fell; a later gate is a higher number."""

    UNKNOWN = 0
    FILTERED = 1
    NOT_INDEXED = 2
    NO_QUERY_TERM = 3
    OUTSIDE_WINDOW = 4
    CAP = 5
    CUTOFF = 6
    RETURNED = 7


@dataclass(frozen=True, slots=True, kw_only=True)
class Verdict:
    """What became of one chunk."""

    gate: Gate
    detail: str
    chunk_id: str | None = None
    #: Its place in the fused list, from 1, where it came that far.
    fused_rank: int | None = None
    #: Its place in each leg's list.
    ranks: Mapping[str, int] | None = None

    def as_json(self, target: str) -> dict[str, object]:
        """Return the verdict on `target` as JSON-ready values."""
        return {
            "id": target,
            "gate": self.gate.name.lower(),
            "detail": self.detail,
            "chunk_id": self.chunk_id,
            "fused_rank": self.fused_rank,
            "ranks": None if self.ranks is None else dict(self.ranks),
        }


@dataclass(frozen=True, slots=True, kw_only=True)
class Outcome:
    """What a search did, as far as it is needed to say why something is not in it."""

    scope: Scope
    lexical: LexicalLeg
    ranked: Ranked
    after: AfterFusion
    #: The hits' chunk ids, best first.
    returned: Sequence[str]


def why_not(target: str, outcome: Outcome) -> Verdict:
    """Return what became of `target`, 32 hex digits of a chunk or a document.

    One that the caller may not see is answered as one that does not exist. Of a document it is the chunk
    that came furthest.
    """
    chunks = _chunks(target, outcome.scope)
    if not chunks:
        return Verdict(gate=Gate.UNKNOWN, detail="There is no such chunk or document.")
    return _furthest_found(chunks, outcome) or _furthest_unfound(chunks, outcome)


def _chunks(target: str, scope: Scope) -> list[Chunk]:
    if _ID.fullmatch(target) is None:
        return []
    chunks = Chunk.objects.in_workspace(scope.workspace_id).filter(document__workspace=scope.workspace_id)
    if scope.readable is not None:
        chunks = chunks.filter(document__source__pk__any_of=list(scope.readable.ids))
    chunks = chunks.select_related("document")
    id_ = uuid.UUID(hex=target)
    return list(chunks.filter(chunk_id=id_)) or list(
        chunks.filter(document__doc_id=id_).order_by("ordinal")[:_MAX_CHUNKS]
    )


def _filtered(document: Document, scope: Scope) -> Verdict | None:
    one = Document.objects.in_workspace(scope.workspace_id).filter(pk=document.pk)
    failed = [
        _FILTER_NAMES.get(name, name)
        for name, value in scope.values.items()
        if not one.filter(conditions({name: value}, scope.workspace_id)).exists()
    ]
    if not failed:
        return None
    return Verdict(gate=Gate.FILTERED, detail=f"Filtered by {', '.join(failed)}.")


def _unindexed(document: Document, outcome: Outcome) -> Verdict | None:
    changes = Change.objects.in_workspace(outcome.scope.workspace_id).filter(doc_id=document.doc_id)
    seq = changes.order_by("-seq").values_list("seq", flat=True).first() or 0
    shown = outcome.lexical.seq
    if shown is None or seq <= shown:
        return None
    return Verdict(
        gate=Gate.NOT_INDEXED, detail=f"Not indexed yet: it is change {seq}, this node has come to {shown}."
    )


def _furthest_found(chunks: Sequence[Chunk], outcome: Outcome) -> Verdict | None:
    """Return the verdict on the one that came furthest of those a leg found; None where none did."""
    left = {entry.chunk_id: entry.rank for entry in outcome.after.entries}
    wanted = {chunk.chunk_id.hex for chunk in chunks}

    def distance(place: tuple[int, Fused]) -> tuple[bool, Gate, int]:
        rank, found = place
        gate, _ = _fall(found.chunk_id, rank, outcome)
        # What stands behind the last hit came further than what a stage took out.
        return found.chunk_id in left, gate, -left.get(found.chunk_id, rank)

    places = enumerate(outcome.ranked.fused, start=1)
    mine = [(rank, found) for rank, found in places if found.chunk_id in wanted]
    if not mine:
        return None
    rank, found = max(mine, key=distance)
    gate, detail = _fall(found.chunk_id, rank, outcome)
    return Verdict(gate=gate, detail=detail, chunk_id=found.chunk_id, fused_rank=rank, ranks=found.ranks)


def _furthest_unfound(chunks: Sequence[Chunk], outcome: Outcome) -> Verdict:
    document = chunks[0].document
    stopped = _filtered(document, outcome.scope) or _unindexed(document, outcome)
    if stopped is not None:
        return stopped
    matching = _matching(chunks, outcome)
    said = max((_unfound(chunk, matching, outcome) for chunk in chunks), key=lambda said: said.gate)
    return said if said.gate is Gate.FILTERED else _with_vector_told(said, outcome)


def _filtered_itself(chunk: Chunk, filters: SearchFilters) -> list[str]:
    wanted = {
        "kind": (chunk.kind, tuple(kind.value for kind in filters.kind)),
        "code_lang": (chunk.language, filters.code_lang_names),
    }
    return [name for name, (value, passing) in wanted.items() if passing and value not in passing]


def _fall(chunk_id: str, rank: int, outcome: Outcome) -> tuple[Gate, str]:
    if chunk_id in outcome.returned:
        return Gate.RETURNED, f"It is hit {outcome.returned.index(chunk_id) + 1}."
    if chunk_id in outcome.after.over_cap:
        return Gate.CAP, f"Rank {rank}; cut by the cap: enough of its document stand before it."
    if chunk_id in outcome.after.below_cutoff:
        return Gate.CUTOFF, f"Rank {rank}; below the cutoff."
    return Gate.OUTSIDE_WINDOW, f"Rank {rank}, outside the window of {len(outcome.returned)}."


def _matching(chunks: Sequence[Chunk], outcome: Outcome) -> Set[str] | None:
    """Return the ids of those that have query terms; None where no leg looked for any."""
    if "lexical" not in outcome.ranked.lists:
        return None
    return outcome.lexical.marked([chunk.chunk_id.hex for chunk in chunks], 1).keys()


def _unfound(chunk: Chunk, matching: Set[str] | None, outcome: Outcome) -> Verdict:
    chunk_id = chunk.chunk_id.hex
    failed = _filtered_itself(chunk, outcome.scope.filters)
    if failed:
        return Verdict(
            gate=Gate.FILTERED, detail=f"Filtered by {', '.join(failed)}.", chunk_id=chunk_id, ranks={}
        )
    legs = ", ".join(f"{len(found)} by the {name} leg" for name, found in outcome.ranked.lists.items())
    gate = Gate.OUTSIDE_WINDOW
    if matching is None:
        detail = f"It is not among the candidates: {legs or 'no leg found any'}."
    elif chunk_id in matching:
        detail = f"It has query terms, but is not among the candidates: {legs}."
    else:
        gate, detail = Gate.NO_QUERY_TERM, f"No query term in it, and not among the candidates: {legs}."
    return Verdict(gate=gate, detail=detail, chunk_id=chunk_id, ranks={})


def _with_vector_told(said: Verdict, outcome: Outcome) -> Verdict:
    if "vector" not in outcome.ranked.lists or _has_vector(said.chunk_id, outcome.scope):
        return said
    return replace(said, detail=f"{said.detail} It has no vector yet.")


def _has_vector(chunk_id: str | None, scope: Scope) -> bool:
    vectors = ChunkVector.objects.in_workspace(scope.workspace_id).filter(chunk_id=chunk_id)
    return scope.space is not None and vectors.filter(space=scope.space.space_id).exists()
