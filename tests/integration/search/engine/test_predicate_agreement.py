"""A mirror and Postgres agree on which passages meet a condition, whatever the case of its texts."""

import unicodedata
from dataclasses import replace
from datetime import UTC, datetime, timedelta

import pytest
from django.db import connection
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from kebab.identity.reader import Reader
from search.access.scope import resolve_scope
from search.analysis import STEMMED
from search.engine.corpus import Corpus
from search.engine.readback import read_visible
from search.models import Chunk, Document
from search.retrieval.fusion.legs import pack_ids
from search.retrieval.query.conditions import AllOf, AnyOf, NamedCondition, Not, comparisons, fold_case
from search.retrieval.query.filters import SearchFilters
from search.retrieval.query.metadata_filter import parse_metadata_filter
from search.retrieval.query.operators import QueryOperators, parse_operators
from tests.support.corpus import chunk, write

NOON = datetime(2024, 5, 1, 12, tzinfo=UTC)
# Names, and how one may type them in another case.
NAMES = {
    "Ärger": "äRGER",
    "ärger": "ÄRGER",
    "İstanbul": "istanbul",
    "ΣΊΣΥΦΟΣ": "σίσυφοσ",
    "Straße": "STRAßE",
    "Kelvin K": "KELVIN k",
    "ops": "Ops",
    "OPS": "oPS",
}


def fill(workspace):
    """Write documents whose paths, tags, authors and metadata differ in case alone, and others."""
    for number, name in enumerate(NAMES):
        write(
            workspace,
            f"Docs/{name}/{number}.MD",
            chunk("apple tree", kind="code", language="python") if number % 2 else "apples and a tree",
            "A pear",
            title=f"On {name}",
            tags=(name, "Fruit"),
            lang="de" if number % 3 else "en",
            trust_level="primary" if number < 3 else "unknown",
            metadata={
                "author": name,
                "team": name,
                "n": number,
                "date": f"2024-0{number + 1}-01",
                "as_text": f"{number}",
                "odd": ["a.*(b|c)\\", "(b|c)\\ A.*", "abc"][number % 3],
            },
        )
    write(workspace, "plain.md", "apple", source="web", media="pdf")
    write(workspace, "plain.md", "apple", source="web", version="v1")
    Document.objects.in_workspace(workspace).update(indexed_at=NOON)
    later = NOON + timedelta(hours=1)
    Document.objects.in_workspace(workspace).filter(path="plain.md").update(dated_at=NOON, indexed_at=later)


FILTERS = SearchFilters(
    tags_any=("FRUIT",),
    lang=("DE",),
    path_glob=("docs/*s*/**", "[o-z]*"),
    path_not_glob=("**/*ä*/*",),
    trust_min="secondary",
    kind="code",
    code_lang="py",
    media="pdf",
    author=("kelvin k", "STRAßE"),
    ingested_after=NOON,
    dated_after=NOON,
    metadata=parse_metadata_filter(
        {
            "team": {"not": "ops"},
            "n": {"gte": 2, "lt": 5},
            "date": {"lt": "2024-04-02"},
            "$or": [{"author": {"exists": False}}, {"n": [1, 2, "x"]}],
        }
    ),
)
TYPED = (
    "x path:docs/ä type:markdown tag:ops -tag:fruit title:strasse author:istanbul source:WEB lang:python"
    ' before:2024-03 "apple tree" -pear'
)
OF_FIELDS = [
    {"team": {"starts_with": "ÄR"}},
    {"team": {"ends_with": "TANBUL"}},
    {"team": {"contains": ["RAßE", "x"]}},
    {"$author": {"starts_with": "ISTAN"}},
    {"$author": {"ends_with": "K"}},
    {"$path": {"starts_with": "docs/İ"}},
    {"$path": {"contains": ".M"}},
    {"$title": {"contains": "sTRASS"}},
    {"$title": {"starts_with": "On S"}},
    {"$title": {"ends_with": "gér"}},
    *({"$title": f"on {name}"} for name in ("ÄRGER", "strasse")),
    *(
        {"odd": {test: part}}
        for test in ("starts_with", "ends_with", "contains")
        for part in ("a.*", "(b|c)\\")
    ),
    {"n": "3"},
    {"n": {"gte": "2", "lte": "5"}},
    {"n": {"starts_with": 2}},
    {"as_text": 3},
    {"as_text": {"gte": 2, "lt": "5.5"}},
    {"date": "01.02.2024"},
    {"date": {"gt": "2024-02", "lte": "04/2024"}},
    {"date": {"gte": "2024-03"}},
    {"$author": {"exists": True}},
    {"$source": "WEB"},
    {"$source": {"contains": "e"}},
    {"$date": {"gte": "2024-05", "lte": "2024-05-01"}},
    {"$date": {"starts_with": "2024-05"}},
    {"$date": {"exists": True}},
    {"$date": {"ends_with": "01T12:00:00+00:00"}},
    {"$date": {"contains": "5-01T"}},
    {"$document_id": {"contains": ["0", "1", "2", "3"]}},
    {"$title": {"exists": True}},
    {"$path": {"not": {"ends_with": ".md"}}},
]
PARTS = [
    comparison
    for each in [
        *FILTERS.conditions(),
        *parse_operators(TYPED, STEMMED).conditions,
        *(each for name in NAMES.values() for each in SearchFilters(tags_any=name, author=name).conditions()),
        *(each for name in NAMES.values() for each in SearchFilters(path_glob=f"*/{name}/*").conditions()),
        *(
            NamedCondition(name="", condition=each.condition)
            for name in NAMES.values()
            for each in parse_metadata_filter({"team": name})
        ),
        *(
            NamedCondition(name="", condition=each.condition)
            for wanted in OF_FIELDS
            for each in parse_metadata_filter(wanted)
        ),
    ]
    for comparison in comparisons(each.condition)
]
TREES = st.recursive(
    st.sampled_from(PARTS),
    lambda part: (
        part.map(Not)
        | st.lists(part, min_size=1, max_size=3).flatmap(
            lambda parts: st.sampled_from([AllOf(tuple(parts)), AnyOf(tuple(parts))])
        )
    ),
    max_leaves=6,
)


@pytest.fixture
def passages(filled):
    """Return the ids of all passages, and a function that returns a corpus in which a condition is typed."""
    scope = resolve_scope(filled, SearchFilters(), Reader())

    def narrowed(condition):
        typed = (NamedCondition(name="typed", condition=condition),)
        operators = QueryOperators(text="", conditions=typed, warnings=(), analysis=STEMMED)
        return Corpus(filled, replace(scope, operators=operators))

    chunk_ids = Chunk.objects.in_workspace(filled).values_list("chunk_id", flat=True)
    return pack_ids(sorted(each.hex for each in chunk_ids)), narrowed


def agreed(ids, narrowed):
    """Return which of the passages meet the condition, by a mirror and by Postgres."""
    with narrowed.open_mirror() as view:
        by_mirror = view.check_visible(ids).tolist()
    assert by_mirror == read_visible(narrowed.scope, ids).tolist()
    return by_mirror


@settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(condition=TREES)
def test_tree_holds_for_the_same_passages_in_a_mirror_and_in_postgres(passages, condition):
    ids, narrowed = passages
    agreed(ids, narrowed(condition))


def test_each_comparison_holds_for_the_same_passages_and_for_some(passages, subtests):
    ids, narrowed = passages
    for part in PARTS:
        with subtests.test(part=part):
            assert any(agreed(ids, narrowed(part)))


@pytest.mark.django_db
def test_letters_are_folded_as_postgres_lowers_them():
    # None behind them has case.
    codes = (code for code in range(1, 0x1F000) if unicodedata.category(chr(code)) not in ("Cn", "Cs"))
    letters = list(map(chr, codes))
    with connection.cursor() as cursor:
        cursor.execute(
            "SELECT lower(letter) FROM unnest(%s::text[]) WITH ORDINALITY t (letter, n) ORDER BY n", [letters]
        )
        lowered = [letter for (letter,) in cursor]
    different = [letter for letter, low in zip(letters, lowered, strict=True) if fold_case(letter) != low]
    assert different == []
