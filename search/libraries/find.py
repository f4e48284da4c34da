"""Search of libraries by name, description and content."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import datetime
from itertools import groupby
from typing import Annotated, Any, Final

from django.db.models import Case, F, FloatField, Q, QuerySet, Value, When
from pydantic import Field

from kebab.identity.models import Workspace
from kebab.identity.reader import Reader
from search.access.restrictions import visible_sources
from search.engine.search import search
from search.engine.time_limit import limited_search
from search.libraries.library import LibraryId, Version, versions_of
from search.libraries.snippets import has_every_term, plain_terms
from search.models import Source, SourceState
from search.retrieval.query.filters import SearchFilters
from search.retrieval.types import Mode, SearchQuery
from search.retrieval.wire_types import Count, Keyword, NonNegative

DEFAULT_LIMIT: Final = 10
MAX_LIMIT: Final = 50

_TITLE_EQUALS = 100.0
_TITLE_STARTS = 50.0
_DESCRIPTION_CONTAINS = 20.0
_SNIPPETS_PER_POINT = 100.0
_POINTS_PER_TRUST = 10.0
# Less than the difference of any two scores: snippets count in hundredths, trust in whole points.
_HALF_A_HUNDREDTH = 0.005
# One content search shows only the first libraries that contain a text, so the others are searched again for
# a few rounds.
_HITS_PER_ROUND = 50
_ROUNDS = 8


@dataclass(frozen=True, slots=True, kw_only=True)
class RankedLibrary:
    """A library with its score."""

    #: `/owner/repo`, or `/local/<slug>`.
    id: LibraryId
    title: str
    description: str
    #: Chunks of the default branch.
    total_snippets: Count
    #: With one decimal.
    trust_score: Annotated[NonNegative, Keyword("maximum", 10)]
    stars: Count | None
    #: Newest first; none: there is only the default branch.
    versions: tuple[Version, ...]
    state: SourceState
    last_indexed_at: datetime
    score: NonNegative
    #: The source's, in place of an empty title.
    key: Annotated[str, Field(exclude=True)]


@dataclass(frozen=True, slots=True, kw_only=True)
class LibraryResults:
    """Libraries found by a name, best first."""

    library_name: str
    query: str
    results: Annotated[tuple[RankedLibrary, ...], Keyword("maxItems", MAX_LIMIT)]
    #: Legs that took no part or were stopped: libraries that only content would have found may be missing.
    degraded: tuple[str, ...]


@limited_search
def find_libraries(
    workspace: Workspace, reader: Reader, name: str, *, query: str = "", limit: int = DEFAULT_LIMIT
) -> LibraryResults:
    """Return the libraries whose title, id, description or content contains `name`, best first.

    The score is `100 if the title equals it + 50 if the title starts with it + 20 if the description contains
    it + snippets / 100 + trust score × 10`; content adds no points. Ties are broken by the best snippet for
    `query`, then by id. Only libraries that have been indexed at least once are returned.
    """
    content = _ContentSearch(workspace, reader)
    candidates = _candidates(visible_sources(workspace, reader), name, content)
    ranked = _break_ties(_best_with_ties(candidates, limit), query, content)[:limit]
    versions = versions_of(workspace, ranked)
    return LibraryResults(
        library_name=name,
        query=query,
        results=tuple(_describe(source, versions[source.pk]) for source in ranked),
        degraded=tuple(sorted(content.degraded)),
    )


def _describe(source: Any, versions: tuple[Version, ...]) -> RankedLibrary:
    return RankedLibrary(
        id=source.library_id,
        title=source.title,
        description=source.description,
        total_snippets=source.total_snippets,
        trust_score=source.trust_score,
        stars=source.stars,
        versions=versions,
        state=source.state,
        last_indexed_at=source.last_indexed_at,
        score=round(source.points, 2),
        key=source.key,
    )


class _ContentSearch:
    """Search through the content of libraries; `degraded` collects the degradations of its searches."""

    def __init__(self, workspace: Workspace, reader: Reader) -> None:
        self._workspace = workspace
        self._reader = reader
        self.degraded: set[str] = set()

    def best_scores(self, text: str, keys: Iterable[str], *, with_every_term: bool) -> dict[str, float]:
        """Return the sources among `keys` that contain all or some words of `text`, with their best score.

        Each round searches the sources that earlier rounds didn't show, so that a big source hides no other.
        """
        remaining = set(keys)
        found: dict[str, float] = {}
        for _ in range(_ROUNDS):
            hits_by_source = self._search(text, remaining, with_every_term) if remaining else {}
            if not hits_by_source:
                break
            found |= hits_by_source
            remaining -= hits_by_source.keys()
        return found

    def _search(self, text: str, keys: Iterable[str], with_every_term: bool) -> dict[str, float]:
        query = SearchQuery(
            text=plain_terms(text),
            mode=Mode.LEXICAL,
            typos=False,
            k=_HITS_PER_ROUND,
            filters=SearchFilters(source=tuple(sorted(keys))),
        )
        result = search(self._workspace, query, reader=self._reader, with_snippets=False)
        self.degraded.update(result.degraded)
        hits = reversed(result.hits)
        return {
            hit.source: hit.retrieval.fusion_score
            for hit in hits
            if has_every_term(hit) or not with_every_term
        }


def _candidates(readable: "QuerySet[Source]", name: str, content: _ContentSearch) -> Any:
    indexed = readable.filter(last_indexed_at__isnull=False)
    named = Q(title__icontains=name) | Q(library_id__icontains=name) | Q(description__icontains=name)
    others = indexed.exclude(named).values_list("key", flat=True)
    holding = content.best_scores(name, others, with_every_term=True)
    return indexed.filter(named | Q(key__in=list(holding))).annotate(points=_points(name))


def _points(name: str) -> Any:
    return (
        _points_if(Q(title__iexact=name), _TITLE_EQUALS)
        + _points_if(Q(title__istartswith=name), _TITLE_STARTS)
        + _points_if(Q(description__icontains=name), _DESCRIPTION_CONTAINS)
        + F("total_snippets") / Value(_SNIPPETS_PER_POINT, output_field=FloatField())
        + F("trust_score") * Value(_POINTS_PER_TRUST, output_field=FloatField())
    )


def _points_if(condition: Q, points: float) -> Case:
    zero = Value(0.0, output_field=FloatField())
    return Case(When(condition, then=Value(points, output_field=FloatField())), default=zero)


def _best_with_ties(candidates: Any, limit: int) -> list[Any]:
    """Return the best `limit` candidates and those that tie with the last of them."""
    best = list(candidates.order_by("-points", "library_id")[:limit])
    if len(best) < limit:
        return best
    least = best[-1].points - _HALF_A_HUNDREDTH
    return list(candidates.filter(points__gte=least).order_by("-points", "library_id"))


def _break_ties(ranked: Sequence[Any], query: str, content: _ContentSearch) -> list[Any]:
    ties = [list(group) for _, group in groupby(ranked, key=lambda source: round(source.points, 2))]
    tied = [source.key for group in ties if len(group) > 1 for source in group]
    scores = content.best_scores(query, tied, with_every_term=False)
    return [
        source
        for group in ties
        for source in sorted(group, key=lambda one: (-scores.get(one.key, 0.0), one.library_id))
    ]
