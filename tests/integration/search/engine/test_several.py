"""Search over several workspaces, compared with a merge of their whole lists."""

from datetime import UTC, datetime

import pytest

from kebab.people.operator import command_line_access
from search.engine.several import search_several
from search.models import Document
from search.retrieval.types import Group, Mode, SearchQuery, Sort
from search.settings.rules import validate_rules
from tests.support.actors import make_workspace
from tests.support.corpus import write, write_each
from tests.support.search import ask, embed, sync

pytestmark = pytest.mark.usefixtures("mirrors")

# The number of hits of each workspace.
_SIZES = [(12, 12, 12), (12, 1, 0), (0, 2, 5), (3, 3, 3)]


@pytest.fixture
def make_spaces(transactional_db):
    def make(sizes):
        spaces = [make_workspace() for _ in sizes]
        for space, size in zip(spaces, sizes, strict=True):
            write_each(space, [f"heron {number} " + "reed " * number for number in range(size)])
            sync(space)
        return spaces

    return make


@pytest.mark.parametrize("text", ["heron", ""])
@pytest.mark.parametrize("sort", [Sort.DATE, Sort.DATE_ASC, Sort.TITLE])
def test_sorted_lists_are_merged_in_their_order(transactional_db, sort, text):
    spaces = [make_workspace(), make_workspace()]
    for number in range(12):
        # The first has the newest ones, with the last titles.
        space = spaces[number // 8]
        dated = datetime(2026, 1, 20 - number, tzinfo=UTC)
        write(space, f"{number}.md", f"heron {number}", title=f"Title {12 - number}", modified_at=dated)
    for space in spaces:
        sync(space)
    newest_first = [f"{number}.md" for number in range(12)]
    for k in (1, 5, 12):
        found = search_several(
            [command_line_access(space) for space in spaces],
            lambda access: SearchQuery(text=text, mode=Mode.LEXICAL, sort=sort, k=12),
            k=k,
            per_workspace=12,
        )
        expected = newest_first if sort is Sort.DATE else newest_first[::-1]
        assert [each.hit.doc_path for each in found.hits] == expected[:k]


@pytest.mark.parametrize("sort", [Sort.DATE, Sort.DATE_ASC])
def test_undated_documents_of_all_workspaces_are_last_by_date(transactional_db, sort):
    spaces = [make_workspace(), make_workspace()]
    for number, space in enumerate(spaces):
        write(space, f"undated{number}.md", "heron")
        write(space, f"dated{number}.md", "heron", metadata={"date": f"200{number}-01-01"})
        sync(space)
    found = search_several(
        [command_line_access(space) for space in spaces],
        lambda access: SearchQuery(text="heron", mode=Mode.LEXICAL, sort=sort),
        k=10,
        per_workspace=10,
    )
    dated = ["dated1.md", "dated0.md"] if sort is Sort.DATE else ["dated0.md", "dated1.md"]
    assert [each.hit.doc_path for each in found.hits][:2] == dated


@pytest.mark.parametrize("sizes", _SIZES)
def test_merged_hits_equal_the_merge_of_complete_lists(make_spaces, sizes):
    spaces = make_spaces(sizes)
    whole = [
        (hit.rank, -hit.score, space.slug, hit.doc_path)
        for space in spaces
        for hit in ask(space, "heron", k=10).hits
    ]
    for k in (1, 4, 10):
        found = search_several(
            [command_line_access(space) for space in spaces],
            lambda access: SearchQuery(text="heron", mode=Mode.LEXICAL, k=10),
            k=k,
            per_workspace=10,
        )
        given = [(each.hit.rank, -each.hit.retrieval.score) for each in found.hits]
        scores = [each.hit.score for each in found.hits]
        assert scores == sorted(scores, reverse=True)
        assert given == [(rank, score) for rank, score, *_ in sorted(whole)][:k]
        assert {(each.workspace.slug, each.hit.doc_path) for each in found.hits} <= {
            (slug, path) for *_, slug, path in whole
        }
        assert [found.count_hits(space) for space in spaces] == [
            sum(each.workspace == space for each in found.hits) for space in spaces
        ]


def test_snippets_are_made_for_the_hits_of_the_merged_list_only(make_spaces):
    spaces = make_spaces((3, 3))
    found = search_several(
        [command_line_access(space) for space in spaces],
        lambda access: SearchQuery(text="heron", mode=Mode.LEXICAL, group=Group.DOCUMENT),
        k=2,
        per_workspace=10,
    )
    shown = [hit for _, result in found.by_workspace for hit in result.hits if hit.snippet]
    assert sorted(hit.chunk_id for hit in shown) == sorted(each.hit.chunk_id for each in found.hits)
    for each in found.hits:
        alone = ask(each.workspace, "heron", group=Group.DOCUMENT).hits[each.hit.rank - 1]
        assert (each.hit.snippet, each.hit.highlights) == (alone.snippet, alone.highlights)
        assert each.hit.sections == alone.sections


def merge(spaces, text, *, k=20, mode=Mode.HYBRID):
    found = search_several(
        [command_line_access(space) for space in spaces],
        lambda access: SearchQuery(text=text, mode=mode, k=20),
        k=k,
        per_workspace=20,
    )
    return [each.hit.doc_path for each in found.hits]


@pytest.mark.parametrize(
    ("text", "pages", "accident"),
    [
        ("vacation carry over", "How to carry over vacation into part {} of the year", "Vacation photos"),
        ("Urlaub übertragen Antrag", "Antrag {}: Urlaub übertragen", "Fotos vom Urlaub"),
    ],
)
@pytest.mark.parametrize("mode", [Mode.LEXICAL, Mode.HYBRID])
def test_accidental_hit_of_a_small_workspace_is_behind_the_pages_of_another(
    transactional_db, text, pages, accident, mode
):
    large, small, unembedded = (make_workspace() for _ in range(3))
    write_each(large, [pages.format(number) for number in range(8)])
    write(small, "accident.md", accident)
    write(unembedded, "other.md", accident)
    for space in (large, small, unembedded):
        sync(space)
    for space in (large, small):
        embed(space)
    assert merge([small, large], text, mode=mode)[8:] == ["accident.md"]
    assert set(merge([small, large, unembedded], text, mode=mode)[8:]) == {"accident.md", "other.md"}


def test_merged_list_begins_as_a_longer_one(transactional_db):
    spaces = [make_workspace() for _ in range(5)]
    for number, space in enumerate(spaces):
        texts = [f"heron {'nest ' * (place % (number + 1))} reed {place}" for place in range(3 * number + 1)]
        write_each(space, texts)
        sync(space)
    whole = merge(spaces, "heron nest", mode=Mode.LEXICAL, k=40)
    assert all(merge(spaces, "heron nest", mode=Mode.LEXICAL, k=k) == whole[:k] for k in (1, 3, 9))


def test_pinned_documents_of_a_workspace_stay_first(transactional_db):
    one, two = make_workspace(), make_workspace()
    write_each(one, ["heron nest in the reed", "heron nest"])
    write(two, "pinned.md", "nothing of it")
    pinned = Document.objects.get(workspace=two).doc_id.hex
    pin = {"kind": "pin", "queries": ["heron nest"], "match": "exact", "documents": [pinned]}
    two.settings["rules"] = validate_rules([pin])
    two.save(update_fields=["settings"])
    for space in (one, two):
        sync(space)
    assert merge([one, two], "heron nest", mode=Mode.LEXICAL)[0] == "pinned.md"
