"""Finding libraries by name."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import groupby
from typing import Any, Final

from django.db.models import Case, F, FloatField, Q, QuerySet, Value, When

from kebab.people.models import Workspace
from kebab.people.reader import Reader
from search.access.querysets import sources_of
from search.engine.search import search
from search.libraries.library import Version, versions_of
from search.libraries.prefix_match import plain_terms
from search.libraries.snippets import has_every_term
from search.models import Source
from search.retrieval.query.filters import SearchFilters
from search.retrieval.types import Mode, SearchQuery

DEFAULT_LIMIT: Final = 10
MAX_LIMIT: Final = 50

_TITLE_EQUALS = 100.0
_TITLE_STARTS = 50.0
_DESCRIPTION_CONTAINS = 20.0
_SNIPPETS_A_POINT = 100.0
_POINTS_A_TRUST = 10.0
# Less than any two scores differ by: snippets count in hundredths, trust in whole points.
_HALF_A_HUNDREDTH = 0.005
# One search shows the first libraries that hold a text; the others are asked again, a few times.
_HITS = 50
_ROUNDS = 8


@dataclass(frozen=True, slots=True, kw_only=True)
class FoundLibrary:
    """A library with why it ranks where it does."""

    source: Source
    versions: tuple[Version, ...]
    score: float


@dataclass(frozen=True, slots=True, kw_only=True)
class FoundLibraries:
    """Libraries, best first, and what the search through their content was missing."""

    libraries: tuple[FoundLibrary, ...]
    degraded: tuple[str, ...]


def find_libraries(
    workspace: Workspace, reader: Reader, name: str, *, query: str = "", limit: int = DEFAULT_LIMIT
) -> FoundLibraries:
    """Return the libraries whose title, id, description or content has `name`, best first.

    `100 if the title equals it + 50 if the title starts with it + 20 if the description contains it +
    snippets / 100 + trust score × 10`; content adds no points. Where scores are equal, the best snippet for
    `query` decides, then the id. Only libraries that have been indexed at least once.
    """
    content = _Content(workspace, reader)
    candidates = _candidates(sources_of(workspace, reader), name, content)
    ranked = _broken_ties(_with_ties(candidates, limit), query, content)[:limit]
    versions = versions_of(workspace, ranked)
    return FoundLibraries(
        libraries=tuple(
            FoundLibrary(source=source, versions=versions[source.pk], score=round(source.points, 2))
            for source in ranked
        ),
        degraded=tuple(sorted(content.degraded)),
    )


class _Content:
    """Searches what the libraries hold, and notes what was missing."""

    def __init__(self, workspace: Workspace, reader: Reader) -> None:
        self._workspace = workspace
        self._reader = reader
        self.degraded: set[str] = set()

    def first_hits(self, text: str, keys: Iterable[str], *, with_every_term: bool) -> dict[str, float]:
        """Return those of the sources `keys` that hold all or some words of `text`, and their best hit's
        score.

        Each search asks those that the ones before didn't show, so that one big source hides no other.
        """
        left = set(keys)
        found: dict[str, float] = {}
        for _ in range(_ROUNDS):
            shown = self._shown(text, left, with_every_term) if left else {}
            if not shown:
                break
            found |= shown
            left -= shown.keys()
        return found

    def _shown(self, text: str, keys: Iterable[str], with_every_term: bool) -> dict[str, float]:
        query = SearchQuery(
            text=plain_terms(text),
            mode=Mode.LEXICAL,
            k=_HITS,
            filters=SearchFilters(source=tuple(sorted(keys))),
        )
        result = search(self._workspace, query, reader=self._reader, with_snippets=False)
        self.degraded.update(result.degraded)
        hits = reversed(result.hits)
        return {hit.source: hit.score for hit in hits if has_every_term(hit) or not with_every_term}


def _candidates(readable: "QuerySet[Source]", name: str, content: _Content) -> Any:
    indexed = readable.filter(last_indexed_at__isnull=False)
    named = Q(title__icontains=name) | Q(library_id__icontains=name) | Q(description__icontains=name)
    others = indexed.exclude(named).values_list("key", flat=True)
    holding = content.first_hits(name, others, with_every_term=True)
    return indexed.filter(named | Q(key__in=list(holding))).annotate(points=_points(name))


def _points(name: str) -> Any:
    return (
        _if(Q(title__iexact=name), _TITLE_EQUALS)
        + _if(Q(title__istartswith=name), _TITLE_STARTS)
        + _if(Q(description__icontains=name), _DESCRIPTION_CONTAINS)
        + F("total_snippets") / Value(_SNIPPETS_A_POINT, output_field=FloatField())
        + F("trust_score") * Value(_POINTS_A_TRUST, output_field=FloatField())
    )


def _if(condition: Q, points: float) -> Case:
    zero = Value(0.0, output_field=FloatField())
    return Case(When(condition, then=Value(points, output_field=FloatField())), default=zero)


def _with_ties(candidates: Any, limit: int) -> list[Any]:
    """Return the best `limit` candidates, and those that tie with the last of them."""
    best = list(candidates.order_by("-points", "library_id")[:limit])
    if len(best) < limit:
        return best
    least = best[-1].points - _HALF_A_HUNDREDTH
    return list(candidates.filter(points__gte=least).order_by("-points", "library_id"))


def _broken_ties(ranked: Sequence[Any], query: str, content: _Content) -> list[Any]:
    ties = [list(group) for _, group in groupby(ranked, key=lambda source: round(source.points, 2))]
    tied = [source.key for group in ties if len(group) > 1 for source in group]
    scores = content.first_hits(query, tied, with_every_term=False)
    return [
        source
        for group in ties
        for source in sorted(group, key=lambda one: (-scores.get(one.key, 0.0), one.library_id))
    ]
