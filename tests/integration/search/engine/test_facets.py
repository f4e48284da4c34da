"""Facet counts: the number of readable documents that choosing the value leaves."""

from dataclasses import replace
from datetime import UTC, datetime, timedelta

import pytest

from kebab.identity.models import Group as People
from kebab.identity.reader import Reader
from search.access.restrictions import restrict
from search.engine.candidates import _CONTRASTS
from search.engine.facets import MAX_VALUES, count_facets
from search.engine.search import search
from search.models import Document, Source
from search.retrieval.errors import InvalidQuery
from search.retrieval.query.channels import QueryChannels
from search.retrieval.query.filters import SearchFilters
from search.retrieval.query.metadata_filter import parse_metadata_filter
from search.retrieval.types import Group, Mode, SearchQuery, Sort
from tests.support.corpus import write, write_each
from tests.support.search import ask, embed, sync

NOON = datetime(2024, 5, 1, 12, tzinfo=UTC)
BOTH_WORDS = "'apple AND tree'"


def fill(workspace):
    """Write documents with the same words and different fields, some with several passages."""
    write(
        workspace, "a.md", "apple tree", "apple again, tree", tags=("fruit", "plant"), trust_level="primary"
    )
    ada = {"author": "Ada"}
    write(workspace, "b.md", "apple tree", tags=("plant",), trust_level="secondary", lang="de", metadata=ada)
    write(workspace, "c.py", "apple tree", media="code", trust_level="unknown", lang="und")
    write(workspace, "d.md", "apple tree", source="web", trust_level="unknown")
    eve = {"author": "Eve", "due": "2026-01-31"}
    write(workspace, "e.md", "apple", source="web", tags=("alone",), lang="fr", metadata=eve)
    write(workspace, "a.md", "apple tree", version="v1", tags=("fruit",))
    Document.objects.in_workspace(workspace).update(indexed_at=NOON)
    Document.objects.in_workspace(workspace).filter(path="d.md").update(indexed_at=NOON + timedelta(hours=1))


def facets(workspace, text=BOTH_WORDS, *, reader=Reader(), moments=(), **filters):  # noqa: B008
    query = SearchQuery(text=text, mode=Mode.LEXICAL, filters=SearchFilters(**filters))
    return count_facets(workspace, query, reader=reader, moments=moments)


def counts(workspace, text=BOTH_WORDS, **options):
    return {
        name: {each.value: each.documents for each in values}
        for name, values in facets(workspace, text, **options).by_filter.items()
    }


def test_documents_with_the_words_are_counted_once_and_by_value(filled):
    found = counts(filled)
    assert found["tags_any"] == {"plant": 2, "fruit": 1}
    assert list(found["tags_any"]) == ["plant", "fruit"]
    assert found["author"] == {"Ada": 1}
    assert found["lang"]["de"] == 1
    assert found["media"] == {"text": 3, "code": 1}
    assert found["trust_min"] == {"primary": 1, "secondary": 2, "unknown": 4}  # what is better counts too
    assert found["version"] == {"v1": 1}  # though the default one is searched
    assert list(counts(filled, "apple")["tags_any"]) == ["plant", "alone", "fruit"]
    assert counts(filled, "zebra")["tags_any"] == {}


def test_without_words_all_documents_and_the_names_of_metadata_are_counted(filled):
    of_ada = SearchFilters(lang=("de", "fr"), metadata=parse_metadata_filter({"author": "Ada"}))
    names = ("metadata", "lang")
    everything = count_facets(filled, SearchQuery(text=" "), reader=Reader(), names=names)
    assert everything.total == 5
    listed = {each.value: each.documents for each in everything.by_filter["metadata"]}
    assert listed == {"author": 2, "due": 1}
    narrowed = count_facets(filled, SearchQuery(text="", filters=of_ada), reader=Reader(), names=names)
    assert narrowed.total == 1
    assert [(each.value, each.documents) for each in narrowed.by_filter["metadata"]] == [("author", 1)]


def test_counts_are_narrowed_by_the_other_filters_only(filled):
    found = counts(filled, lang="de")
    assert found["tags_any"] == {"plant": 1}
    assert found["lang"]["und"] == 1
    assert counts(filled, source="web")["source"].keys() == counts(filled)["source"].keys()
    assert counts(filled, lang="xx")["lang"]["xx"] == 0  # the chosen value is given though nothing has it
    assert [facets(filled, **filters).total for filters in ({}, {"media": ("code",)})] == [4, 1]
    assert facets(filled, media=("code",), lang=("de",)).total == 0


def test_chosen_value_in_another_case_is_counted_as_it_is_written(filled):
    found = counts(filled, tags_any="FRUIT", author="ada")
    assert (found["tags_any"], found["author"]) == ({"plant": 1, "FRUIT": 0}, {"ada": 0})
    found = counts(filled, tags_any="PLANT", lang="DE")
    assert found["tags_any"] == {"plant": 1} and found["lang"]["de"] == 1 and "DE" not in found["lang"]


def test_choosing_a_value_leaves_as_many_documents_as_it_says(filled, subtests):
    moment = NOON + timedelta(minutes=1)
    for filters in ({}, {"lang": ("de", "und")}, {"trust_min": "secondary"}, {"source": "web"}):
        for name, values in counts(filled, moments=[moment], **filters).items():
            for value, documents in values.items():
                chosen = datetime.fromisoformat(value) if name == "ingested_after" else value
                with subtests.test(filters=filters, name=name, value=value):
                    found = ask(filled, BOTH_WORDS, k=50, **{**filters, name: chosen})
                    assert len({hit.doc_id for hit in found.hits}) == documents


def test_documents_of_any_word_count_where_few_have_all(filled):
    relaxed = facets(filled, "tree elephant")
    assert relaxed.is_relaxed
    assert {each.value for each in relaxed.by_filter["tags_any"]} == {"plant", "fruit"}


def test_passages_of_one_document_are_few(workspace):
    write(workspace, "long.md", *(f"elephant trunk {number}" for number in range(10)))
    sync(workspace)
    assert facets(workspace, "elephant trunk").is_relaxed


@pytest.mark.parametrize("mode", [Mode.HYBRID, Mode.VECTOR])
@pytest.mark.parametrize(
    ("text", "near", "far"),
    [
        ("vacation policy", ("vacation policy of the year", "the vacation of", "policy"), "pumps and valves"),
        ("Regeln für Urlaub", ("Regeln für Urlaub im Werk", "Urlaub", "Regeln"), "Pumpen und Ventile"),
    ],
)
def test_counts_equal_the_documents_that_a_filter_shows_above_the_floor(
    workspace, monkeypatch, mode, text, near, far
):
    for number in range(36):
        words = near[number % 3] if number < 6 else f"{far} {number}"
        write(workspace, f"{number}.md", words, lang=("en", "de", "fr")[number // 2 % 3])
    sync(workspace)
    monkeypatch.setitem(_CONTRASTS, embed(workspace).model, None)
    query = SearchQuery(text=text, mode=mode, floor=True, group=Group.DOCUMENT, k=50)
    found = count_facets(workspace, query, reader=Reader(), names=("lang",))
    assert found.relation == "eq" and 0 < found.total < 36
    assert found.total == len(search(workspace, query).hits)
    counted = {each.value: each.documents for each in found.by_filter["lang"]}
    for value, documents in counted.items():
        chosen = replace(query, filters=SearchFilters(lang=(value,)))
        assert len(search(workspace, chosen).hits) == documents
        own = count_facets(workspace, chosen, reader=Reader(), names=("lang",)).by_filter["lang"]
        assert {each.value: each.documents for each in own} == counted


def test_counts_are_a_lower_bound_where_vectors_may_find_more(workspace):
    write_each(workspace, [f"apple {number}" for number in range(12)])
    sync(workspace)
    assert facets(workspace, "apple").relation == "eq"
    embed(workspace)
    found = count_facets(workspace, SearchQuery(text="apple"), reader=Reader())
    assert (found.relation, found.total) == ("gte", 12)


def test_hidden_documents_near_the_query_are_not_counted(workspace):
    write(workspace, "open.md", "vacation policy", lang="en")
    write(workspace, "closed.md", "vacation policy too", source="closed", lang="fr")
    restrict(Source.objects.get(key="closed"), [People.objects.create(workspace=workspace, name="few").pk])
    sync(workspace)
    embed(workspace)
    found = count_facets(workspace, SearchQuery(text="vacation policies"), reader=Reader(), names=("lang",))
    assert (found.total, [each.value for each in found.by_filter["lang"]]) == (1, ["en"])


@pytest.mark.parametrize(
    ("query", "total"),
    [
        (SearchQuery(text="appel tree"), 5),
        (SearchQuery(text="appel", typos=False), 0),
        (SearchQuery(text="app"), 5),
        (SearchQuery(text="tre", prefix=True, typos=False), 4),
        (SearchQuery(text="x", channels=QueryChannels(vector="x", lexical="tree", rerank="x")), 4),
    ],
)
def test_words_are_those_that_are_searched(filled, query, total):
    by_words = replace(query, mode=Mode.LEXICAL, group=Group.DOCUMENT)
    assert count_facets(filled, by_words, reader=Reader()).total == total
    assert len(search(filled, by_words).hits) == total


@pytest.mark.parametrize(("sort", "total"), [(Sort.DATE, 2), (Sort.TITLE, 2), (Sort.RELEVANCE, 0)])
def test_operators_alone_list_documents_in_another_order_only(filled, sort, total):
    query = SearchQuery(text="tag:plant", operators=True, sort=sort)
    assert count_facets(filled, query, reader=Reader()).total == total
    assert len(search(filled, query).hits) == total


def test_source_chosen_by_its_id_counts_by_its_key(filled):
    source = Source.objects.in_workspace(filled).get(key="web")
    found = counts(filled, source=str(source.pk))["source"]
    assert found == counts(filled, source="web")["source"]
    assert found["web"] == 1


def test_hidden_documents_are_not_counted(filled):
    source = Source.objects.get(workspace=filled, key="web")
    group = People.objects.create(workspace=filled, name="few")
    restrict(source, [group.pk])
    closed, opened = Reader(), Reader(groups=(group.pk,))
    assert "alone" in counts(filled, "apple", reader=opened)["tags_any"]
    hidden = counts(filled, "apple", reader=closed, moments=[NOON + timedelta(minutes=1)])
    assert "alone" not in hidden["tags_any"]
    assert "fr" not in hidden["lang"]
    assert "Eve" in counts(filled, "apple", reader=opened)["author"]
    assert "Eve" not in hidden["author"]
    assert "web" not in hidden["source"]
    assert hidden["ingested_after"] == {(NOON + timedelta(minutes=1)).isoformat(): 0}
    named = counts(filled, "apple", reader=closed, source="web")
    assert named == counts(filled, "apple", reader=closed, source="web") | {"source": hidden["source"]}
    missing = counts(filled, "apple", reader=closed, source="nowhere")
    assert named == missing


def test_renamed_source_no_longer_counts(filled):
    Source.objects.in_workspace(filled).filter(key="web").update(key="renamed")
    assert "web" not in counts(filled, "apple")["source"]


def test_counts_are_left_out_past_the_time_limit(filled, settings):
    settings.KEBAB_LEG_LIMIT_MS = 0
    assert facets(filled, "apple") is None


def test_wrong_syntax_is_refused(filled):
    with pytest.raises(InvalidQuery):
        counts(filled, "'\"'")


def test_number_of_values_is_limited(workspace):
    write(workspace, "a.md", "apple", tags=tuple(f"tag{n}" for n in range(MAX_VALUES + 5)))
    sync(workspace)
    assert len(counts(workspace, "apple")["tags_any"]) == MAX_VALUES


def test_values_are_read_once_though_the_time_of_a_leg_is_up(filled, settings, monkeypatch):
    limit_ms, settings.KEBAB_LEG_LIMIT_MS = settings.KEBAB_LEG_LIMIT_MS, 0
    assert facets(filled) is None
    settings.KEBAB_LEG_LIMIT_MS = limit_ms
    monkeypatch.setattr("search.mirror.postings.collection.read_attribute", None)
    found = counts(filled, moments=[NOON])
    assert found["tags_any"] == {"plant": 2, "fruit": 1}
    assert found["ingested_after"] == {NOON.isoformat(): 1}


def test_document_with_several_values_of_a_field_counts_once(workspace):
    write(workspace, "a.md", "apple", metadata={"reviewer": ["Ada", "Eve"]})
    write(workspace, "b.md", "apple", metadata={"reviewer": "Eve"})
    sync(workspace)
    names = ("metadata", "metadata.reviewer")
    found = count_facets(workspace, SearchQuery(text=""), reader=Reader(), names=names).by_filter
    counted = [{each.value: each.documents for each in found[name]} for name in names]
    assert counted == [{"reviewer": 2}, {"Eve": 2, "Ada": 1}]


def test_spellings_of_a_value_are_one_value_in_the_most_frequent_spelling(workspace):
    for number, (tag, year) in enumerate(
        [("finance", 2024), ("Finance", "2024"), ("FINANCE", "2024"), ("Finance", 2023)]
    ):
        tags = (tag, "Plan", "plan") if number < 2 else (tag,)
        write(workspace, f"{number}.md", "apple", tags=tags, metadata={"year": year, "team": tag})
    sync(workspace)
    names = ("tags_any", "metadata.year", "metadata.team")
    of_finance = SearchFilters(tags_any="FINANCE", metadata=parse_metadata_filter({"year": "2023"}))
    for filters, expected in (
        (SearchFilters(), [[("Finance", 4), ("Plan", 2)], [("2024", 3), (2023, 1)], [("Finance", 4)]]),
        (of_finance, [[("Finance", 1)], [("2024", 3), (2023, 1)], [("Finance", 1)]]),
    ):
        query = SearchQuery(text="apple", filters=filters)
        found = count_facets(workspace, query, reader=Reader(), names=names).by_filter
        assert [[(each.value, each.documents) for each in found[name]] for name in names] == expected
