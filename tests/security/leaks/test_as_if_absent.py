"""A workspace with a restricted source answers like one that never had it: counts, scores, spelling too."""

import re

import pytest
from django.contrib.auth import get_user

from tests.security.leaks.call import Call
from tests.security.leaks.callers import Caller, twin_viewer
from tests.security.leaks.calls import CALLS
from tests.security.leaks.canaries import CLOSED
from tests.security.leaks.playing import play

_READING_POSTS = {"api-search", "api-search-bulk", "api-context-pack"}
# Names, numbers of rows, and of the latest change, which is the workspace's and no document's.
_OWN = re.compile(
    r"(?:harbour|lagoon)-\d+|Our (?:harbour|lagoon)"
    r"|[\w.<>-]+@example\.net"
    r'|"seq": \d+|"id": \d+'
)
_WORDS = ("workers", "restart the workers", "moorings", "workrs", "beside", "backup installer")
# Ties are broken by ids, which differ: of this each open document has something, and none has as much.
_NO_TIE = "the workers go to boats nightly"


def _asking_for_open_text():
    for mode in ("lexical", "vector", "hybrid"):
        yield from _asking(_NO_TIE, mode)
    for words in _WORDS:
        yield from _asking(words, "lexical")
        yield Call(route="api-library-search", query=f"libraryName=open&query={words}")
        yield Call(route="api-snippet-search", query=f"libraryId=/local/open&query={words}")
    for typed in ("w", "wor", "b", "re", "i", "bes"):
        yield Call(route="api-suggest", query=f"q={typed}")


def _asking(words, mode):
    yield Call(route="api-search", method="post", body={"q": words, "mode": mode, "explain": True, "k": 2})
    yield Call(route="search", query=f"q={words}&mode={mode}")
    yield Call(route="api-context-pack", method="post", body={"information_request": words, "mode": mode})


_READING = [
    call for call in CALLS if call.compared and (call.method == "get" or call.route in _READING_POSTS)
]
_ALL = [*_READING, *_asking_for_open_text()]


@pytest.fixture
def twin(played):
    return Caller(name="viewer", client=twin_viewer(played.stage), hostile_to=frozenset({CLOSED}))


@pytest.mark.parametrize("subject", sorted({call.subject for call in _ALL}))
def test_an_answer_is_as_if_the_source_were_not_there(played, twin, subtests, subject):
    stage, nothing, viewer = played.stage, played.stage.closed.missing(), played.callers["viewer"]
    for call in (each for each in _ALL if each.subject == subject):
        with subtests.test(call=call.label):
            found = play(viewer, call, stage.ours.slug, nothing)
            wanted = play(twin, call, stage.twin.slug, nothing)
            assert _bare(found, viewer) == _bare(wanted, twin)


def _bare(answer, caller):
    """Status, headers and the body cut into pieces, so that a failure shows where two differ."""
    status, headers, body = answer.likeness
    bare = {name: _OWN.sub("", value) for name, value in headers.items()}
    own = f"/people/{get_user(caller.client).pk}/remove"
    return [
        str(status),
        *map(str, bare.items()),
        *re.split(r"(?<=[,\n])", _OWN.sub("", body.replace(own, ""))),
    ]
