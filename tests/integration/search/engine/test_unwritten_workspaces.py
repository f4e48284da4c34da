"""Where nothing was ever written no leg lacks anything, and there is no mirror to make."""

import pytest

from kebab.people.reader import Reader
from search import node
from search.facets import count_facets
from search.retrieval.errors import InvalidQuery
from search.retrieval.filters import SearchFilters
from search.retrieval.types import LexicalTotal, Mode
from search.suggest import suggest
from tests.support.corpus import write
from tests.support.searching import ask, paths


@pytest.mark.parametrize("mode", [Mode.LEXICAL, Mode.HYBRID])
@pytest.mark.parametrize("text", ["apple pear", "'apple OR pear'", '"getUser"', "部署指南"])
def test_a_search_is_whole_and_finds_nothing(workspace, mode, text):
    result = ask(workspace, text, mode, explain=True, path_glob=("*.md",))
    assert (result.hits, result.degraded, result.seq, result.lag) == ((), (), 0, 0)
    assert result.lexical_total == LexicalTotal(value=0, relation="eq")
    assert not node.mirror_files(workspace.pk).directory.exists()


def test_what_is_no_syntax_is_refused_there_as_well(workspace):
    with pytest.raises(InvalidQuery, match="is not FTS5 syntax"):
        ask(workspace, "'apple OR'")


def test_suggestions_and_counts_are_whole(workspace):
    assert suggest(workspace, "app", reader=Reader()).degraded == ()
    counted = count_facets(workspace, "apple", SearchFilters(), reader=Reader())
    assert (counted.total, set(counted.by_filter.values())) == (0, {()})


def test_where_something_was_written_a_mirror_that_is_not_there_is_missed(workspace, monkeypatch):
    write(workspace, "a.md", "apple")
    with monkeypatch.context() as patched:
        patched.setattr("search.node.build_mirror", lambda *_, **__: None)
        assert ask(workspace, "apple").degraded == ("lexical",)
        assert suggest(workspace, "app", reader=Reader()).degraded == ("lexical",)
    assert paths(ask(workspace, "apple")) == ["a.md"]
