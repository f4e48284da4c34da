"""Searches in an empty workspace, and hits without snippets."""

from dataclasses import replace

import pytest

from kebab.identity.reader import Reader
from search.engine.facets import count_facets
from search.engine.search import search
from search.engine.suggest import suggest
from search.mirror import local_mirrors
from search.retrieval.errors import InvalidQuery
from search.retrieval.text.snippet import SnippetBuilder
from search.retrieval.types import LexicalTotal, Mode, SearchQuery
from tests.support.corpus import write
from tests.support.search import ask, embed, paths, sync


def test_empty_workspace_returns_no_hits_without_degradation(workspace, subtests):
    for mode in (Mode.LEXICAL, Mode.HYBRID):
        for text in ("apple pear", "'apple OR pear'", '"getUser"', "部署指南"):
            with subtests.test(mode=mode, text=text):
                result = ask(workspace, text, mode, explain=True, path_glob=("*.md",))
                assert (result.hits, result.degraded, result.seq, result.lag) == ((), (), 0, 0)
                assert result.lexical_total == LexicalTotal(value=0, relation="eq")
    assert not local_mirrors.mirror_files(workspace.pk).directory.exists()
    with pytest.raises(InvalidQuery):
        ask(workspace, "'apple OR'")
    assert suggest(workspace, "app", reader=Reader()).degraded == ()
    counted = count_facets(workspace, SearchQuery(text="apple"), reader=Reader())
    assert (counted.total, set(counted.by_filter.values())) == (0, {()})


def test_missing_mirror_is_named_where_something_was_written(workspace, monkeypatch):
    write(workspace, "a.md", "apple")
    embed(workspace)
    with monkeypatch.context() as patched:
        patched.setattr("search.mirror.local_mirrors.build_mirror", lambda *_, **__: None)
        lexical, hybrid = ask(workspace, "apple"), ask(workspace, "apple", Mode.HYBRID, explain=True)
        assert (lexical.hits, lexical.degraded, lexical.did_you_mean) == ((), ("lexical",), None)
        assert (paths(hybrid), hybrid.degraded) == (["a.md"], ("lexical",))
        assert list(hybrid.explain["legs"]) == ["vector"]
        assert suggest(workspace, "app", reader=Reader()).degraded == ("lexical",)
    assert paths(ask(workspace, "apple")) == ["a.md"]


def test_search_without_snippets_returns_the_same_hits_and_builds_none(workspace, monkeypatch):
    for number in range(5):
        write(workspace, f"{number}.md", "pepper " * (number + 1), "salt")
    sync(workspace)
    embed(workspace)
    for mode in Mode:
        query = SearchQuery(text="pepper", mode=mode)
        hits = search(workspace, query).hits
        bare = search(workspace, query, with_snippets=False).hits
        assert bare == tuple(replace(hit, snippet="", highlights=()) for hit in hits) != hits
    monkeypatch.setattr(SnippetBuilder, "build", lambda *args: 1 / 0)
    assert search(workspace, SearchQuery(text="pepper"), with_snippets=False).hits
    with pytest.raises(ZeroDivisionError):
        search(workspace, SearchQuery(text="pepper"))
