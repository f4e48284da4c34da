"""Explanation why a chunk, or the best chunk of a document, is not among the hits."""

import re
import uuid
from collections.abc import Iterable, Mapping, Sequence, Set
from dataclasses import asdict, dataclass, replace
from enum import IntEnum

from search.access.predicate import find_meeting, find_worded
from search.access.scope import SearchScope
from search.engine.candidates import Candidates
from search.engine.hits import HitPage
from search.mirror.query.lexical import chunks_that_match
from search.mirror.query.match import Match
from search.models import Change, Chunk, ChunkVector, Document
from search.retrieval.fusion.legs import pack_ids
from search.retrieval.fusion.post_fusion import PostFusionResult
from search.retrieval.fusion.ranking import RankedEntry
from search.retrieval.query.conditions import NamedCondition

# Of a document with more chunks only the first ones are checked.
_MAX_CHUNKS = 1_000
_ID = re.compile("[0-9a-f]{32}")


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
    OLDER = 11
    COPY = 12
    RETURNED = 13


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

    found: Candidates
    match: Match | None
    after: PostFusionResult
    page: HitPage


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


def _find_unmet(chunks: Sequence[Chunk], scope: SearchScope) -> dict[str, list[NamedCondition]]:
    """Return the conditions that each chunk doesn't meet, by its id."""
    ids = [chunk.chunk_id.hex for chunk in chunks]
    worded = find_worded(scope, ids)
    unmet: dict[str, list[NamedCondition]] = {id_: [] for id_ in ids}
    for each in scope.conditions:
        for id_ in unmet.keys() - find_meeting(scope, each.condition, ids, worded):
            unmet[id_].append(each)
    return unmet


def _check_filters(unmet: Mapping[str, Sequence[NamedCondition]], scope: SearchScope) -> WhyNotVerdict | None:
    """Return the verdict on a document by the filters that none of its chunks meets."""
    names = {each.name for each in scope.filter_conditions}
    for found in unmet.values():
        names &= {each.name for each in found}
    return _filtered_by(sorted(names)) if names else None


def _filtered_by(names: Iterable[str], chunk_id: str | None = None) -> WhyNotVerdict:
    ranks: dict[str, int] | None = None if chunk_id is None else {}
    detail = f"Filtered by {', '.join(names)}."
    return WhyNotVerdict(gate=Gate.FILTERED, detail=detail, chunk_id=chunk_id, ranks=ranks)


def _check_indexed(document: Document, outcome: SearchOutcome) -> WhyNotVerdict | None:
    changes = Change.objects.in_workspace(document.workspace_id).filter(doc_id=document.doc_id)
    seq = changes.order_by("-seq").values_list("seq", flat=True).first() or 0
    mirror_seq = None if outcome.found.view is None else outcome.found.view.seq
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

    positions = {chunk_id: outcome.found.ranked.position_of(chunk_id) for chunk_id in wanted}
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
        ranks=outcome.found.ranked.ranks_at(position),
    )


def _furthest_unfound(chunks: Sequence[Chunk], scope: SearchScope, outcome: SearchOutcome) -> WhyNotVerdict:
    unmet = _find_unmet(chunks, scope)
    verdict = (
        _check_filters(unmet, scope)
        or _check_indexed(chunks[0].document, outcome)
        or _check_copies(chunks, outcome)
    )
    if verdict is not None:
        return verdict
    matching = _chunks_with_terms(chunks, outcome)
    verdict = max(
        (
            _verdict_on_unmet(chunk_id, found) if found else _verdict_on_unfound(chunk_id, matching, outcome)
            for chunk_id, found in unmet.items()
        ),
        key=lambda each: each.gate,
    )
    return verdict if verdict.gate <= Gate.REQUIRED else _add_missing_vector(verdict, scope, outcome)


def _verdict_on_unmet(chunk_id: str, unmet: Sequence[NamedCondition]) -> WhyNotVerdict:
    """Return the verdict on a chunk that doesn't meet these conditions."""
    filters = [each.name for each in unmet if not each.is_on_terms]
    if filters:
        return _filtered_by(filters, chunk_id)
    name = unmet[0].name
    gate, detail = Gate.REQUIRED, f"It lacks the required {name}."
    if unmet[0].is_exclusion:
        gate, detail = Gate.EXCLUDED, f"Excluded by {name}."
    return WhyNotVerdict(gate=gate, detail=detail, chunk_id=chunk_id, ranks={})


def _check_copies(chunks: Sequence[Chunk], outcome: SearchOutcome) -> WhyNotVerdict | None:
    ids = {chunk.chunk_id.hex for chunk in chunks}
    for original, older in outcome.found.older.items():
        for page in ids.intersection(older):
            detail = f"It is an older version of the page of chunk {original}, which is shown in its place."
            return WhyNotVerdict(gate=Gate.OLDER, detail=detail, chunk_id=page, ranks={})
    for original, copies in outcome.found.copies.items():
        for copy in ids.intersection(copies):
            position = outcome.found.ranked.position_of(original)
            rank = None if position is None else position + 1
            detail = f"It has the text of chunk {original}, rank {rank}, which is shown in its place."
            return WhyNotVerdict(gate=Gate.COPY, detail=detail, chunk_id=copy, ranks={})
    return None


def _gate_of_found(chunk_id: str, rank: int, outcome: SearchOutcome) -> tuple[Gate, str]:
    hit_of = {hit.chunk_id: hit.rank for hit in outcome.page.hits}
    if chunk_id in hit_of:
        return Gate.RETURNED, f"It is hit {hit_of[chunk_id]}."
    document = next((each for each in outcome.after.entries if _is_section(chunk_id, each)), None)
    if document is not None:
        return Gate.GROUPED, f"It is a further section of document {document.rank} in the list."
    if chunk_id in outcome.after.over_cap:
        return Gate.CAP, f"Rank {rank}; cut by the cap: enough of its document stand before it."
    if chunk_id in outcome.after.below_cutoff:
        return Gate.CUTOFF, f"Rank {rank}; below the cutoff."
    return Gate.OUTSIDE_WINDOW, f"Rank {rank}, outside the window of {len(outcome.page.hits)}."


def _is_section(chunk_id: str, document: RankedEntry) -> bool:
    return any(section.chunk_id == chunk_id for section in document.sections or ())


def _chunks_with_terms(chunks: Sequence[Chunk], outcome: SearchOutcome) -> Set[str] | None:
    """Return the ids of the chunks that have query terms; None if the lexical leg did not run."""
    if "lexical" not in outcome.found.ranked.lists or outcome.found.view is None:
        return None
    if outcome.match is None:
        return frozenset()
    return chunks_that_match(outcome.found.view, outcome.match, [chunk.chunk_id.hex for chunk in chunks])


def _verdict_on_unfound(chunk_id: str, matching: Set[str] | None, outcome: SearchOutcome) -> WhyNotVerdict:
    if pack_ids([chunk_id])[0] in outcome.found.ranked.below_floor:
        detail = "Below the floor: too little of the query is in it."
        return WhyNotVerdict(gate=Gate.FLOOR, detail=detail, chunk_id=chunk_id, ranks={})
    lists = outcome.found.ranked.lists
    legs = ", ".join(f"{len(each.ids)} by the {name} leg" for name, each in lists.items())
    gate = Gate.OUTSIDE_WINDOW
    if matching is None:
        detail = f"It is not among the candidates: {legs or 'no leg found any'}."
    elif chunk_id in matching:
        detail = f"It has query terms, but is not among the candidates: {legs}."
    else:
        gate, detail = Gate.NO_QUERY_TERM, f"No query term in it, and not among the candidates: {legs}."
    return WhyNotVerdict(gate=gate, detail=detail, chunk_id=chunk_id, ranks={})


def _add_missing_vector(verdict: WhyNotVerdict, scope: SearchScope, outcome: SearchOutcome) -> WhyNotVerdict:
    if "vector" not in outcome.found.ranked.lists or _has_vector(verdict.chunk_id, scope):
        return verdict
    return replace(verdict, detail=f"{verdict.detail} Its vector is still missing.")


def _has_vector(chunk_id: str | None, scope: SearchScope) -> bool:
    if scope.space is None or chunk_id is None:
        return False
    vectors = ChunkVector.objects.in_workspace(scope.workspace_id).filter(chunk_id=chunk_id)
    return vectors.filter(space=scope.space.space_id).exists()
