"""The lexical leg is stopped wherever it is when its time is over."""

import apsw

from search.mirror import lexical
from search.retrieval.types import Mode
from tests.support.corpus import write
from tests.support.searching import ask, embed, paths, sync


def test_a_leg_that_is_stopped_while_it_reads_the_query_is_named(workspace, monkeypatch):
    write(workspace, "a.md", "apple")
    embed(workspace)
    sync(workspace)

    def stopped(*_):
        raise apsw.InterruptError("interrupted")

    monkeypatch.setattr(lexical, "compile_match", stopped)
    result = ask(workspace, "apple", Mode.HYBRID)

    assert paths(result) == ["a.md"]
    assert result.degraded == ("lexical",)
    assert ask(workspace, "apple", Mode.LEXICAL).degraded == ("lexical",)
