"""Hits without snippets: for who reads the chunks whole."""

from dataclasses import replace

import pytest

from search.engine import search
from search.mirror.lexical import LexicalLeg
from search.retrieval.types import Mode, SearchQuery
from tests.support.corpus import write
from tests.support.searching import embed, sync


@pytest.fixture
def corpus(workspace):
    for number in range(5):
        write(workspace, f"{number}.md", "pepper " * (number + 1), "salt")
    sync(workspace)
    embed(workspace)
    return workspace


@pytest.mark.parametrize("mode", list(Mode))
def test_they_are_the_same_hits_but_for_their_snippets(corpus, mode):
    query = SearchQuery(text="pepper", mode=mode)
    hits = search(corpus, query).hits
    bare = search(corpus, query, with_snippets=False).hits

    assert bare == tuple(replace(hit, snippet="", highlights=()) for hit in hits) != hits


def test_the_mirror_is_not_asked_for_any(corpus, monkeypatch):
    monkeypatch.setattr(LexicalLeg, "snippets", lambda self, chunk_ids, snippet_chars: 1 / 0)

    assert search(corpus, SearchQuery(text="pepper"), with_snippets=False).hits
    with pytest.raises(ZeroDivisionError):
        search(corpus, SearchQuery(text="pepper"))
