"""Hostile text in the addresses of pages."""

from random import Random

import pytest

from tests.drills.hostile.attempt import parameters
from tests.drills.hostile.endpoints import Ground
from tests.drills.hostile.text import MAKERS
from tests.drills.hostile.values import hostile_value

_WORDS = ("push", "image", "restart", "workers")


@pytest.mark.slow
def test_no_text_breaks_the_search_page(visitor, guide, subtests):
    for kind, make in MAKERS.items():
        source = Random(kind)
        for mode in ("hybrid", "lexical"):
            with subtests.test(kind=kind, mode=mode):
                asked = {"q": make(source, _WORDS)[:20_000], "mode": mode}
                response = visitor.get("/w/handbook/search", QUERY_STRING=parameters(asked))
                assert response.status_code in (200, 400)


def test_no_parameter_breaks_a_page(visitor, guide):
    ground, source = Ground(workspace="handbook", words=_WORDS), Random(1)
    for page in ("/w/handbook/search", f"/w/handbook/documents/{guide.doc_id.hex}"):
        for name in ("q", "mode", "k", "start", "end", "chunk", "from") * 2:
            asked = {"q": "push", name: hostile_value(name, source, ground)}
            response = visitor.get(page, QUERY_STRING=parameters(asked)[:60_000])

            assert response.status_code in (200, 400)
