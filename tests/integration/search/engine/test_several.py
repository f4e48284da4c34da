"""Search over several workspaces, compared with a merge of their whole lists."""

from datetime import UTC, datetime

import pytest

from kebab.people.operator import command_line_access
from search.engine.several import search_several
from search.retrieval.types import Mode, SearchQuery, Sort
from tests.support.actors import make_workspace
from tests.support.corpus import write, write_each
from tests.support.search import ask, sync

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
@pytest.mark.parametrize("sort", [Sort.DATE, Sort.TITLE])
def test_sorted_lists_are_merged_in_their_order(transactional_db, sort, text):
    spaces = [make_workspace(), make_workspace()]
    for number in range(12):
        # The first has the newest ones, with the last titles.
        space = spaces[number // 8]
        dated = datetime(2026, 1, 20 - number, tzinfo=UTC)
        write(space, f"{number}.md", f"heron {number}", title=f"Title {12 - number:02}", modified_at=dated)
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
        given = [(each.hit.rank, -each.hit.score) for each in found.hits]
        assert given == [(rank, score) for rank, score, *_ in sorted(whole)][:k]
        assert {(each.workspace.slug, each.hit.doc_path) for each in found.hits} <= {
            (slug, path) for *_, slug, path in whole
        }
        assert [found.count_hits(space) for space in spaces] == [
            sum(each.workspace == space for each in found.hits) for space in spaces
        ]
