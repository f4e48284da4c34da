"""Filters' counts: as many documents as choosing the value leaves, and of nothing that may not be read."""

from datetime import UTC, datetime, timedelta

import pytest

from kebab.people.models import Group
from kebab.people.reader import Reader
from search import node
from search.facets import MAX_VALUES, count_facets
from search.models import Document, Source
from search.readers import restrict
from search.retrieval.errors import InvalidQuery
from search.retrieval.filters import SearchFilters
from tests.support.corpus import write
from tests.support.searching import ask, sync

NOON = datetime(2024, 5, 1, 12, tzinfo=UTC)


@pytest.fixture
def library(workspace):
    """Documents with the same words, several passages to some, each different in what is said about it."""
    write(
        workspace, "a.md", "apple tree", "apple again, tree", tags=("fruit", "plant"), trust_level="primary"
    )
    write(workspace, "b.md", "apple tree", tags=("plant",), trust_level="secondary", lang="de")
    write(workspace, "c.py", "apple tree", media="code", trust_level="unknown", lang="und")
    write(workspace, "d.md", "apple tree", source="web", trust_level="unknown")
    write(workspace, "e.md", "apple", source="web", tags=("alone",), lang="fr")
    write(workspace, "a.md", "apple tree", version="v1", tags=("fruit",))
    Document.objects.update(indexed_at=NOON)
    Document.objects.filter(path="d.md").update(indexed_at=NOON + timedelta(hours=1))
    node.mirror_files(workspace.pk).remove_all()
    sync(workspace)
    return workspace


def counts(workspace, text="'apple AND tree'", *, reader=Reader(), moments=(), **filters):  # noqa: B008
    facets = count_facets(workspace, text, SearchFilters(**filters), reader=reader, moments=moments)
    return {
        name: {each.value: each.documents for each in values} for name, values in facets.by_filter.items()
    }


def test_documents_are_counted_and_each_once(library):
    found = counts(library)

    assert found["tags_any"] == {"plant": 2, "fruit": 1}
    assert found["lang"]["de"] == 1
    assert found["media"] == {"text": 3, "code": 1}


def test_values_stand_in_the_order_of_their_counts_then_by_letters(library):
    assert list(counts(library)["tags_any"]) == ["plant", "fruit"]
    assert list(counts(library, "apple")["tags_any"]) == ["plant", "alone", "fruit"]


def test_only_documents_with_the_words_count(library):
    assert "alone" not in counts(library)["tags_any"]
    assert counts(library, "zebra")["tags_any"] == {}


def test_other_filters_narrow_the_counts_and_the_own_does_not(library):
    found = counts(library, lang="de")

    assert found["tags_any"] == {"plant": 1}
    assert found["lang"]["und"] == 1
    assert counts(library, source="web")["source"].keys() == counts(library)["source"].keys()


@pytest.mark.parametrize(
    "filters", [{}, {"lang": ("de", "und")}, {"trust_min": "secondary"}, {"source": "web"}]
)
def test_choosing_a_value_leaves_as_many_documents_as_it_says(library, filters):
    moment = NOON + timedelta(minutes=1)
    for name, values in counts(library, moments=[moment], **filters).items():
        for value, documents in values.items():
            chosen = datetime.fromisoformat(value) if name == "ingested_after" else value
            found = ask(library, "'apple AND tree'", k=50, **{**filters, name: chosen})
            assert len({hit.doc_id for hit in found.hits}) == documents, (name, value)


def test_trust_counts_what_is_better_too(library):
    assert counts(library)["trust_min"] == {"primary": 1, "secondary": 2, "unknown": 4}


def test_versions_are_counted_though_the_default_ones_are_searched(library):
    assert counts(library)["version"] == {"v1": 1}


def test_with_few_documents_of_all_words_those_of_any_count(library):
    facets = count_facets(library, "tree elephant", SearchFilters(), reader=Reader())

    assert facets.is_relaxed
    assert {each.value for each in facets.by_filter["tags_any"]} == {"plant", "fruit"}


def test_a_chosen_value_is_given_though_nothing_has_it(library):
    assert counts(library, lang="xx")["lang"]["xx"] == 0


def test_only_so_many_values_are_given(workspace):
    for n in range(MAX_VALUES + 5):
        write(workspace, f"{n}.md", f"apple {n}", tags=(f"tag{n}",))
    sync(workspace)

    assert len(counts(workspace, "apple")["tags_any"]) == MAX_VALUES


def test_what_may_not_be_read_counts_nowhere(library):
    source = Source.objects.get(workspace=library, key="web")
    group = Group.objects.create(workspace=library, name="few")
    restrict(source, [group.pk])
    closed, opened = Reader(), Reader(groups=(group.pk,))

    assert "alone" in counts(library, "apple", reader=opened)["tags_any"]
    hidden = counts(library, "apple", reader=closed, moments=[NOON + timedelta(minutes=1)])
    assert "alone" not in hidden["tags_any"]
    assert "fr" not in hidden["lang"]
    assert "web" not in hidden["source"]
    assert hidden["ingested_after"] == {(NOON + timedelta(minutes=1)).isoformat(): 0}
    named = counts(library, "apple", reader=closed, source="web")
    assert named == counts(library, "apple", reader=closed, source="web") | {"source": hidden["source"]}
    missing = counts(library, "apple", reader=closed, source="nowhere")
    assert named == missing


def test_a_source_that_is_gone_counts_no_more(library):
    Source.objects.filter(key="web").update(key="renamed")

    assert "web" not in counts(library, "apple")["source"]


def test_without_a_mirror_or_time_there_are_no_counts(library, settings, monkeypatch):
    settings.KEBAB_LEG_LIMIT_MS = 0

    assert count_facets(library, "apple", SearchFilters(), reader=Reader()) is None


def test_what_is_no_syntax_is_refused(library):
    with pytest.raises(InvalidQuery, match="is not FTS5 syntax"):
        counts(library, "'\"'")


def test_the_total_is_that_of_all_filters(library):
    def total(**filters):
        text = "'apple AND tree'"
        return count_facets(library, text, SearchFilters(**filters), reader=Reader()).total

    assert total() == 4
    assert total(media=("code",)) == 1
    assert total(media=("code",), lang=("de",)) == 0
