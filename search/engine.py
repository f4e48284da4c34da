"""`search(workspace, query)`: the one function behind HTTP, MCP, command line, pages and evaluation."""

import time
from collections.abc import Sequence
from dataclasses import dataclass, replace

from django.conf import settings

from kebab.people.models import Workspace
from kebab.people.preferences import preference
from search import node
from search.embedding import query_embedder
from search.explain import explanation
from search.hits import HitBuilder
from search.mirror import lexical
from search.mirror.lexical import LexicalLeg
from search.readback import read_back
from search.retrieval.cap import TOP_M, cap_per_file
from search.retrieval.gather import Leg
from search.retrieval.index_version import NO_VECTORS, IndexVersion
from search.retrieval.pipeline import Ranked, rank_candidates
from search.retrieval.types import Mode, SearchQuery, SearchResult
from search.scope import Scope, resolve_scope
from search.vectors.leg import VectorLeg
from search.vectors.spaces import LiveSpace, live_space

# A node that has no mirror of the workspace yet gets this long to build it before it answers without.
_FIRST_MIRROR_S = 2.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Legs:
    """Both legs of one query; only those that the mode asks for are used."""

    lexical: LexicalLeg
    vector: VectorLeg

    def used(self, mode: Mode) -> list[Leg]:
        """Give the legs for the pipeline: the lexical one beside, the vector one in the calling thread."""
        legs = {
            Mode.LEXICAL: Leg(name="lexical", search=self.lexical.search),
            Mode.VECTOR: Leg(name="vector", search=self.vector.search, in_calling_thread=True),
        }
        return list(legs.values()) if mode is Mode.HYBRID else [legs[mode]]


def index_version(workspace: Workspace, mode: Mode) -> str:
    """Name what answers in `mode`: the lexical index, the live space, or both."""
    return _version(mode, live_space(workspace))


def search(workspace: Workspace, query: SearchQuery, *, min_seq: int | None = None) -> SearchResult:
    """Answer `query` from `workspace`, with what was missing named in the result.

    With `min_seq` it waits, within a limit, until this node shows that change. Raises InvalidQuery and
    InvalidFilter for what can't be understood, NotSearchableYet, Workspace.DoesNotExist.
    """
    started = time.perf_counter()
    scope = resolve_scope(workspace, query.filters)
    if min_seq is not None or query.mode is not Mode.VECTOR:
        _await_mirror(workspace, scope, min_seq)
    legs = _legs(workspace, scope, query)
    ranked = _rank(workspace, scope, query, legs)
    version = _version(query.mode, legs.vector.space)
    hits = HitBuilder(workspace, scope, query, legs.lexical, legs.vector.space, version).build(ranked.entries)
    seq = scope.head_seq if query.mode is Mode.VECTOR else legs.lexical.seq or 0
    if seq < scope.head_seq:
        node.trigger_sync(workspace.pk)
    return SearchResult(
        query=query.text,
        mode=query.mode,
        index_version=version,
        seq=seq,
        lag=max(0, scope.head_seq - seq),
        took_ms=round((time.perf_counter() - started) * 1000, 3),
        degraded=tuple(ranked.degraded),
        warnings=tuple(text for text in (legs.vector.mismatch,) if text and query.mode is not Mode.LEXICAL),
        lexical_total=None if query.mode is Mode.VECTOR else legs.lexical.total,
        hits=hits,
        explain=explanation(legs.lexical.match, ranked) if query.explain else None,
    )


def _version(mode: Mode, space: LiveSpace | None) -> str:
    vectors = NO_VECTORS if space is None else space.index_version
    version = IndexVersion(
        lexical=None if mode is Mode.VECTOR else lexical.INDEX_VERSION,
        vector=None if mode is Mode.LEXICAL else vectors,
    )
    return str(version)


def _await_mirror(workspace: Workspace, scope: Scope, min_seq: int | None) -> None:
    if min_seq is not None:
        node.wait_for_seq(workspace.pk, min_seq, limit_s=settings.KEBAB_WAIT_LIMIT_S)
    elif scope.head_seq and not node.mirror_seq(workspace.pk):
        node.build_first_mirror(workspace.pk, limit_s=_FIRST_MIRROR_S)


def _legs(workspace: Workspace, scope: Scope, query: SearchQuery) -> Legs:
    asked = query.asked
    has_vectors = query.mode is not Mode.LEXICAL
    return Legs(
        lexical=LexicalLeg(
            node.mirror_files(workspace.pk),
            node.reader_pool(),
            scope,
            asked.lexical,
            limit_s=settings.KEBAB_LEG_LIMIT_MS / 1000,
        ),
        vector=VectorLeg(
            scope.space if has_vectors else None,
            scope,
            asked.vector,
            query_embedder() if has_vectors else None,
        ),
    )


def _rank(workspace: Workspace, scope: Scope, query: SearchQuery, legs: Legs) -> Ranked:
    documents: dict[str, str] = {}

    def remembering_read_back(chunk_ids: Sequence[str]) -> dict[str, str]:
        standing = read_back(scope, chunk_ids)
        documents.update(standing)
        return standing

    is_capped = query.per_file_cap is not None and query.per_file_cap > 0
    ranked = rank_candidates(
        query.mode,
        legs.used(query.mode),
        remembering_read_back,
        k=max(query.k, TOP_M) if is_capped else query.k,
        executor=node.leg_executor() if query.mode is Mode.HYBRID else None,
        k_rrf=preference(workspace, "rrf_k"),
    )
    if not is_capped:
        return ranked
    cap = query.per_file_cap or 0
    kept = cap_per_file(ranked.entries, file_of=lambda entry: documents[entry.chunk_id], cap=cap)[: query.k]
    return replace(ranked, entries=tuple(replace(entry, rank=n) for n, entry in enumerate(kept, start=1)))
