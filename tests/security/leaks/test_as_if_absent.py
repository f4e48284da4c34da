"""A workspace with a restricted source answers like one that never had it, also in counts and spelling."""

import re

import pytest
from django.contrib.auth import get_user

from tests.security.leaks.call import Call
from tests.security.leaks.callers import Caller, twin_viewer
from tests.security.leaks.calls import CALLS
from tests.security.leaks.canaries import CLOSED
from tests.security.leaks.requests import send_call

_READING_POSTS = {"api-search", "api-search-bulk", "api-context-pack"}
# Names, owners, initials, row ids and change numbers, which differ between workspaces.
_OWN = re.compile(
    r"(?:harbour|lagoon)-\d+|Our (?:harbour|lagoon)"
    r"|[\w.<>-]+@example\.net"
    r"|(?<=role\.) Ask .*?\.(?=</p>)"
    r'|"seq": \d+|"id": \d+'
    r'|(?<=class="avatar" aria-hidden="true">)\w+'
)
_WORDS = ("workers", "restart the workers", "moorings", "workrs", "beside", "backup installer")
# Ties are broken by ids, which differ: every open document has a part of this text, none has as much.
_UNTIED = "the workers go to boats nightly"


def _calls_for_open_text():
    for mode in ("lexical", "vector", "hybrid"):
        yield from _calls(_UNTIED, mode)
    for words in _WORDS:
        yield from _calls(words, "lexical")
        yield Call(route="api-library-search", query=f"libraryName=open&query={words}")
        yield Call(route="api-snippet-search", query=f"libraryId=/local/open&query={words}")
    for typed in ("w", "wor", "b", "re", "i", "bes"):
        yield Call(route="api-suggest", query=f"q={typed}")


def _calls(words, mode):
    yield Call(route="api-search", method="post", body={"q": words, "mode": mode, "explain": True, "k": 2})
    yield Call(route="search", query=f"q={words}&mode={mode}")
    yield Call(route="api-context-pack", method="post", body={"information_request": words, "mode": mode})


_READING = [
    call for call in CALLS if call.compared and (call.method == "get" or call.route in _READING_POSTS)
]
_ALL = [*_READING, *_calls_for_open_text()]


@pytest.fixture
def twin(stage_setting):
    return Caller(name="viewer", client=twin_viewer(stage_setting.stage), hostile_to=frozenset({CLOSED}))


@pytest.mark.parametrize("subject", sorted({call.subject for call in _ALL}))
def test_answer_equals_one_from_a_workspace_without_the_source(stage_setting, twin, subtests, subject):
    stage, nothing, viewer = (
        stage_setting.stage,
        stage_setting.stage.closed.missing(),
        stage_setting.callers["viewer"],
    )
    for call in (each for each in _ALL if each.subject == subject):
        with subtests.test(call=call.label):
            found = send_call(viewer, call, stage.ours.slug, nothing)
            expected = send_call(twin, call, stage.twin.slug, nothing)
            assert _comparable(found, viewer) == _comparable(expected, twin)


def _comparable(answer, caller):
    """Return status, headers and the body split into pieces, so that a failure shows the difference."""
    status, headers, body = answer.comparable
    bare = {name: _OWN.sub("", value) for name, value in headers.items()}
    own = f"/people/{get_user(caller.client).pk}/remove"
    return [
        str(status),
        *map(str, bare.items()),
        *re.split(r"(?<=[,\n])", _OWN.sub("", body.replace(own, ""))),
    ]
