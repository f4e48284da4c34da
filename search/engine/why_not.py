"""Explanation why a chunk, or the best chunk of a document, is not among the hits."""

import re
import uuid
from collections.abc import Mapping, Sequence, Set
from dataclasses import asdict, dataclass, replace
from enum import IntEnum

from search.access.scope import SearchScope, conditions
from search.engine.readback import read_conditioned_passages
from search.mirror.query.lexical import chunks_that_match
from search.mirror.query.match import Match
from search.mirror.query.view import MirrorView
from search.models import Change, Chunk, ChunkVector, Document
from search.retrieval.fusion.legs import pack_ids
from search.retrieval.fusion.post_fusion import PostFusionResult
from search.retrieval.fusion.ranking import RankedEntry, Ranking
from search.retrieval.query.filters import SearchFilters
from search.retrieval.query.passage_conditions import ConditionedPassage
from search.retrieval.types import SearchHit

# Of a document with more chunks only the first ones are checked.
_MAX_CHUNKS = 1_000
_ID = re.compile("[0-9a-f]{32}")
# Public names of those keys of `SearchScope.values` that differ from them.
_FILTER_NAMES = {
    "path": "path_glob",
    "not_path": "path_not_glob",
    "trust": "trust_min",
    "tags": "tags_any",
    "after": "ingested_after",
}


class Gate(IntEnum):
    """The stage at which a chunk dropped out; later stages have higher numbers."""

    UNKNOWN = 0
    FILTERED = 1
    NOT_INDEXED = 2
    EXCLUDED = 3
    REQUIRED = 4
    NO_QUERY_TERM = 5
    OUTSIDE_WINDOW = 6
    FLOOR = 7
    CAP = 8
    CUTOFF = 9
    GROUPED = 10
    COPY = 11
    RETURNED = 12


@dataclass(frozen=True, slots=True, kw_only=True)
class WhyNotVerdict:
    """The result for one chunk."""

    gate: Gate
    detail: str
    chunk_id: str | None = None
    #: Its rank in the fused list, from 1, if it is in there.
    fused_rank: int | None = None
    #: Its rank in each leg's list.
    ranks: Mapping[str, int] | None = None

    def as_json(self, target: str) -> dict[str, object]:
        """Return the verdict on `target` as JSON-ready values."""
        return {"id": target, **asdict(self), "gate": self.gate.name.lower()}


@dataclass(frozen=True, slots=True, kw_only=True)
class SearchOutcome:
    """The data of a search that explain why a chunk is not among its hits."""

    #: None without a mirror.
    view: MirrorView | None
    match: Match | None
    ranked: Ranking
    after: PostFusionResult
    hits: Sequence[SearchHit]
    #: Chunk ids of the copies of a text, by that of the one in the list.
    copies: Mapping[str, tuple[str, ...]]


def explain_absence(target: str, scope: SearchScope, outcome: SearchOutcome) -> WhyNotVerdict:
    """Return the verdict on `target`, the 32 hex digits of a chunk or a document.

    An invisible target is treated as nonexistent. For a document the verdict is on the chunk that got
    furthest.
    """
    chunks = _find_chunks(target, scope)
    if not chunks:
        return WhyNotVerdict(gate=Gate.UNKNOWN, detail="There is no such chunk or document.")
    return _furthest_found(chunks, outcome) or _furthest_unfound(chunks, scope, outcome)


def _find_chunks(target: str, scope: SearchScope) -> list[Chunk]:
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


def _check_document_filters(document: Document, scope: SearchScope) -> WhyNotVerdict | None:
    one = Document.objects.in_workspace(scope.workspace_id).filter(pk=document.pk)
    failed = [
        _FILTER_NAMES.get(name, name)
        for name, value in scope.values.items()
        if not one.filter(conditions({name: value}, scope.workspace_id)).exists()
    ]
    if not failed:
        return None
    return WhyNotVerdict(gate=Gate.FILTERED, detail=f"Filtered by {', '.join(failed)}.")


def _check_indexed(document: Document, outcome: SearchOutcome) -> WhyNotVerdict | None:
    changes = Change.objects.in_workspace(document.workspace_id).filter(doc_id=document.doc_id)
    seq = changes.order_by("-seq").values_list("seq", flat=True).first() or 0
    mirror_seq = None if outcome.view is None else outcome.view.seq
    if mirror_seq is None or seq <= mirror_seq:
        return None
    return WhyNotVerdict(
        gate=Gate.NOT_INDEXED,
        detail=f"Not indexed yet: it is change {seq}, this node has come to {mirror_seq}.",
    )


def _furthest_found(chunks: Sequence[Chunk], outcome: SearchOutcome) -> WhyNotVerdict | None:
    """Return the verdict on the chunk that got furthest of those found by a leg; None if there is none."""
    ranks_left = {entry.chunk_id: entry.rank for entry in outcome.after.entries}
    wanted = {chunk.chunk_id.hex for chunk in chunks}

    def progress(found: tuple[str, int]) -> tuple[bool, Gate, int]:
        chunk_id, position = found
        gate, _ = _gate_of_found(chunk_id, position + 1, outcome)
        # A chunk after the last hit got further than one that a stage removed.
        return chunk_id in ranks_left, gate, -ranks_left.get(chunk_id, position + 1)

    positions = {chunk_id: outcome.ranked.position_of(chunk_id) for chunk_id in wanted}
    candidates = [(chunk_id, position) for chunk_id, position in positions.items() if position is not None]
    if not candidates:
        return None
    chunk_id, position = max(candidates, key=progress)
    gate, detail = _gate_of_found(chunk_id, position + 1, outcome)
    return WhyNotVerdict(
        gate=gate,
        detail=detail,
        chunk_id=chunk_id,
        fused_rank=position + 1,
        ranks=outcome.ranked.ranks_at(position),
    )


def _furthest_unfound(chunks: Sequence[Chunk], scope: SearchScope, outcome: SearchOutcome) -> WhyNotVerdict:
    document = chunks[0].document
    verdict = (
        _check_document_filters(document, scope)
        or _check_indexed(document, outcome)
        or _check_copies(chunks, outcome)
    )
    if verdict is not None:
        return verdict
    matching = _chunks_with_terms(chunks, outcome)
    passages = read_conditioned_passages(scope, [chunk.chunk_id.hex for chunk in chunks])
    verdict = max(
        (
            _verdict_on_unmet(chunk.chunk_id.hex, passages, scope)
            or _verdict_on_unfound(chunk, matching, scope, outcome)
            for chunk in chunks
        ),
        key=lambda each: each.gate,
    )
    return verdict if verdict.gate <= Gate.REQUIRED else _add_missing_vector(verdict, scope, outcome)


def _verdict_on_unmet(
    chunk_id: str, passages: Mapping[str, ConditionedPassage], scope: SearchScope
) -> WhyNotVerdict | None:
    """Return the verdict on a chunk that doesn't meet an operator; None if it meets all, or is gone."""
    if scope.operators is None or chunk_id not in passages:
        return None
    unmet = next(passages[chunk_id].unmet(scope.operators), None)
    if unmet is None:
        return None
    gate, detail = Gate.FILTERED, f"Filtered by {unmet.typed}."
    if unmet.is_on_words:
        gate, detail = Gate.REQUIRED, f"It lacks the required {unmet.typed}."
        if unmet.is_exclusion:
            gate, detail = Gate.EXCLUDED, f"Excluded by {unmet.typed}."
    return WhyNotVerdict(gate=gate, detail=detail, chunk_id=chunk_id, ranks={})


def _check_copies(chunks: Sequence[Chunk], outcome: SearchOutcome) -> WhyNotVerdict | None:
    ids = {chunk.chunk_id.hex for chunk in chunks}
    for original, copies in outcome.copies.items():
        for copy in ids.intersection(copies):
            position = outcome.ranked.position_of(original)
            rank = None if position is None else position + 1
            detail = f"It has the text of chunk {original}, rank {rank}, which is shown in its place."
            return WhyNotVerdict(gate=Gate.COPY, detail=detail, chunk_id=copy, ranks={})
    return None


def _failed_chunk_filters(chunk: Chunk, filters: SearchFilters) -> list[str]:
    wanted = {
        "kind": (chunk.kind, tuple(kind.value for kind in filters.kind)),
        "code_lang": (chunk.language, filters.code_lang_names),
    }
    return [name for name, (value, passing) in wanted.items() if passing and value not in passing]


def _gate_of_found(chunk_id: str, rank: int, outcome: SearchOutcome) -> tuple[Gate, str]:
    hit_of = {hit.chunk_id: hit.rank for hit in outcome.hits}
    if chunk_id in hit_of:
        return Gate.RETURNED, f"It is hit {hit_of[chunk_id]}."
    document = next((each for each in outcome.after.entries if _is_section(chunk_id, each)), None)
    if document is not None:
        return Gate.GROUPED, f"It is a further section of document {document.rank} in the list."
    if chunk_id in outcome.after.over_cap:
        return Gate.CAP, f"Rank {rank}; cut by the cap: enough of its document stand before it."
    if chunk_id in outcome.after.below_cutoff:
        return Gate.CUTOFF, f"Rank {rank}; below the cutoff."
    return Gate.OUTSIDE_WINDOW, f"Rank {rank}, outside the window of {len(outcome.hits)}."


def _is_section(chunk_id: str, document: RankedEntry) -> bool:
    return any(section.chunk_id == chunk_id for section in document.sections or ())


def _chunks_with_terms(chunks: Sequence[Chunk], outcome: SearchOutcome) -> Set[str] | None:
    """Return the ids of the chunks that have query terms; None if the lexical leg did not run."""
    if "lexical" not in outcome.ranked.lists or outcome.view is None:
        return None
    if outcome.match is None:
        return frozenset()
    return chunks_that_match(outcome.view, outcome.match, [chunk.chunk_id.hex for chunk in chunks])


def _verdict_on_unfound(
    chunk: Chunk, matching: Set[str] | None, scope: SearchScope, outcome: SearchOutcome
) -> WhyNotVerdict:
    chunk_id = chunk.chunk_id.hex
    failed = _failed_chunk_filters(chunk, scope.filters)
    if failed:
        return WhyNotVerdict(
            gate=Gate.FILTERED, detail=f"Filtered by {', '.join(failed)}.", chunk_id=chunk_id, ranks={}
        )
    if pack_ids([chunk_id])[0] in outcome.ranked.below_floor:
        detail = "Below the floor: too little of the query is in it."
        return WhyNotVerdict(gate=Gate.FLOOR, detail=detail, chunk_id=chunk_id, ranks={})
    legs = ", ".join(f"{len(found.ids)} by the {name} leg" for name, found in outcome.ranked.lists.items())
    gate = Gate.OUTSIDE_WINDOW
    if matching is None:
        detail = f"It is not among the candidates: {legs or 'no leg found any'}."
    elif chunk_id in matching:
        detail = f"It has query terms, but is not among the candidates: {legs}."
    else:
        gate, detail = Gate.NO_QUERY_TERM, f"No query term in it, and not among the candidates: {legs}."
    return WhyNotVerdict(gate=gate, detail=detail, chunk_id=chunk_id, ranks={})


def _add_missing_vector(verdict: WhyNotVerdict, scope: SearchScope, outcome: SearchOutcome) -> WhyNotVerdict:
    if "vector" not in outcome.ranked.lists or _has_vector(verdict.chunk_id, scope):
        return verdict
    return replace(verdict, detail=f"{verdict.detail} Its vector is still missing.")


def _has_vector(chunk_id: str | None, scope: SearchScope) -> bool:
    if scope.space is None or chunk_id is None:
        return False
    vectors = ChunkVector.objects.in_workspace(scope.workspace_id).filter(chunk_id=chunk_id)
    return vectors.filter(space=scope.space.space_id).exists()
