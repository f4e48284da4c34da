"""Hits of a workspace that indexes words as they are mark them so, whichever leg has found them."""

import pytest

from kebab.people.workspaces import store_settings
from search.retrieval.types import Mode
from tests.support.corpus import write
from tests.support.searching import ask, embed, sync

TEXT = "He installed it, and installing it was easy."


def marked(workspace, query, mode):
    hit = ask(workspace, query, mode).hits[0]
    return [hit.snippet[start:end] for start, end in hit.highlights]


@pytest.mark.parametrize(
    ("is_stemmed", "expected"), [(True, ["installed", "installing"]), (False, ["installing"])]
)
@pytest.mark.parametrize("mode", list(Mode))
def test_hits_mark_what_the_index_would_find(workspace, mode, is_stemmed, expected):
    store_settings(workspace, {"stemming": is_stemmed})
    workspace.refresh_from_db()
    write(workspace, "guide.md", TEXT)
    sync(workspace)
    embed(workspace)

    assert marked(workspace, "installing", mode) == expected
