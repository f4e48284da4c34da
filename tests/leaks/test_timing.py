"""How long an answer takes doesn't tell whether there is something: medians of interleaved pairs."""

import gc
import statistics
import time

import pytest

from tests.leaks.callers import Caller
from tests.leaks.calls import Call
from tests.leaks.canaries import CLOSED, NOWHERE, THEIRS, Target
from tests.leaks.playing import ROUTES, send

_PAIRS = 200
_TRIES = 3
_SHARE = 0.10
# An answer takes 2 ms and more here. Two runs of the *same* request differ in their medians by up to 0.1 ms
# on a busy machine, and over a network, where a client measures, nobody tells a tenth of a millisecond apart.
_FLOOR_S = 0.000_2

_CALLS = {
    "document": Call(route="api-document"),
    "content": Call(route="api-document-content"),
    "chunk": Call(route="api-chunk"),
    "source": Call(route="api-source"),
    "job": Call(route="api-job"),
    "word": Call(route="api-search", query="q={word}&mode=lexical"),
    "suggestion": Call(route="api-suggest", query="q={stem}t"),
    "library": Call(route="api-context", query="libraryId={library}&query=workers"),
    "page": Call(route="document"),
}


@pytest.mark.parametrize("stem", [THEIRS, CLOSED])
@pytest.mark.parametrize("what", sorted(_CALLS))
def test_hidden_and_missing_take_as_long(played, what, stem):
    target = {THEIRS: played.stage.hidden, CLOSED: played.stage.closed}[stem]
    slug = played.stage.ours.slug
    addresses = [_address(what, slug, each) for each in (target, target.missing())]
    caller = played.callers["viewer" if what == "page" else "token"]

    _assert_alike(caller, *addresses)


@pytest.mark.parametrize("name", ["stranger", "viewer", "token"])
def test_another_workspaces_name_takes_as_long_as_an_unknown_one(played, name):
    slug, nothing = played.stage.theirs.slug, Target(stem=THEIRS)
    unknown = slug.replace(THEIRS, NOWHERE[THEIRS])
    addresses = [ROUTES["api-documents"].path({"ws": each, **nothing.ids}) for each in (slug, unknown)]

    _assert_alike(played.callers[name], *addresses)


def _address(what: str, slug: str, target: Target) -> str:
    call = _CALLS[what]
    return call.address(ROUTES[call.route], slug, target)


def _assert_alike(caller: Caller, hidden: str, missing: str) -> None:
    """Three tries, as a neighbour on the machine may have taken one side of a whole run."""
    medians = []
    for _ in range(_TRIES):
        medians.append(_medians(caller, hidden, missing))
        first, second = medians[-1]
        if abs(first - second) <= max(_SHARE * max(first, second), _FLOOR_S):
            return
    told = [f"{first * 1000:.3f} ms and {second * 1000:.3f} ms" for first, second in medians]
    raise AssertionError(f"hidden and missing take {told}")


def _medians(caller: Caller, hidden: str, missing: str) -> tuple[float, float]:
    """Medians in seconds; each pair in turn in the other order, so that neither is always the warm one."""
    taken: dict[str, list[float]] = {hidden: [], missing: []}
    for _ in range(5):
        send(caller, "get", hidden)
        send(caller, "get", missing)
    gc.collect()
    gc.disable()
    try:
        for number in range(_PAIRS):
            for address in (hidden, missing) if number % 2 else (missing, hidden):
                began = time.perf_counter()
                send(caller, "get", address)
                taken[address].append(time.perf_counter() - began)
    finally:
        gc.enable()
    return statistics.median(taken[hidden]), statistics.median(taken[missing])
