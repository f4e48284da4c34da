"""The leak matrix: every route and method, called by everybody, tells nothing of what they may not see."""

import pytest

from tests.security.leaks.calls import CALLS, OPEN
from tests.security.leaks.canaries import CLOSED, NOWHERE, THEIRS, Target
from tests.security.leaks.looking import Answer, leaks_in, logged, shows
from tests.security.leaks.playing import ROUTES, play, send_undone
from tests.security.leaks.routes import routes

_LABELLED = [pytest.param(call, id=f"{number}-{call.label}") for number, call in enumerate(CALLS)]
_FIRST = {(call.route, call.method): call for call in reversed(CALLS)}
# A route's first call is everybody's; for its others those are enough who get further than the door.
_TRYING_ALL = frozenset({"stranger", "viewer", "editor", "reader", "token", "their owner"})
_ARGUMENTS_OF_OPEN = {
    "name": "problem.v1",
    "provider_id": "company",
    "uid": "MQ",
    "token": "abc-0123456789",
    "secret": "abc",
}
# HEAD answers like GET, and a workspace's id like its slug; a few callers are enough to see that.
_TRYING_MORE = frozenset({"nobody", "viewer", "token"})


def targets(played):
    return {THEIRS: played.stage.hidden, CLOSED: played.stage.closed}


def hostile(played, stem, call):
    callers = [caller for caller in played.callers.values() if stem in caller.hostile_to]
    is_first = _FIRST[call.route, call.method] is call
    return callers if is_first else [caller for caller in callers if caller.name in _TRYING_ALL]


def test_every_route_and_method_is_called():
    called = {(call.route, call.method) for call in CALLS}
    missing = [
        f"{method.upper()} {route.pattern} (name {route.name!r})"
        for route in routes()
        if route.name not in OPEN and not route.pattern.startswith("admin/")
        for method in route.methods
        if (route.name, method) not in called
    ]

    assert not missing, f"Say in tests/security/leaks/calls.py how these are called: {missing}"
    assert called <= {(route.name, method) for route in routes() for method in route.methods}


@pytest.mark.parametrize("call", _LABELLED)
def test_what_may_not_be_seen_is_like_what_is_not_there(played, call):
    faults = []
    for stem, target in targets(played).items():
        for caller in hostile(played, stem, call):
            is_more = caller.name in _TRYING_MORE
            for method in (call.method, "head") if is_more and call.method == "get" else (call.method,):
                faults += _tried(played, call, stem, caller, target, method)

    assert not faults, "\n".join(faults)


def _tried(played, call, stem, caller, target, method):
    """Play the call with hidden and with missing ids, and give what is wrong with the answers and the log."""
    missing = target.missing()
    with logged() as lines:
        for hidden, absent, is_compared in _pairs(played, call, stem, caller, target, missing, method):
            yield from _faults(caller, target, hidden, absent, is_compared)
            told = [line for line in lines if leaks_in(line, target, hidden.given.values())]
            yield from (f"{caller.name}: logged {line}" for line in told)
            lines.clear()


def _pairs(played, call, stem, caller, target, missing, method):
    """The call with hidden and with missing ids: below the hidden workspace, and below the caller's own."""
    stage = played.stage
    if stem == THEIRS:
        slug = stage.theirs.slug
        nowhere = slug.replace(THEIRS, NOWHERE[THEIRS])
        hidden = play(caller, call, slug, target, method=method)
        yield hidden, play(caller, call, nowhere, missing, method=method), True
        if caller.name in _TRYING_MORE:
            yield play(caller, call, str(stage.theirs.pk), target, method=method), hidden, True
    if not call.is_fatal:
        hidden = play(caller, call, stage.ours.slug, target, method=method)
        absent = play(caller, call, stage.ours.slug, missing, method=method)
        yield hidden, absent, stem in call.compared


def _faults(caller, target, hidden, absent, is_compared):
    if hidden.status >= 500:
        yield f"{caller.name}: {hidden.status} {hidden.text[:300]}"
    leaks = hidden.leaks(target)
    if leaks:
        yield f"{caller.name}: {hidden.status} tells {sorted(set(leaks))}: {hidden.text[:600]}"
    if is_compared and hidden.likeness != absent.likeness:
        yield f"{caller.name}: {hidden.likeness} and not {absent.likeness}"


@pytest.mark.parametrize("call", _LABELLED)
def test_those_who_may_see_it_do(played, call):
    controls = {THEIRS: ("their owner", played.stage.theirs), CLOSED: ("owner", played.stage.ours)}
    for stem, target in targets(played).items():
        name, workspace = controls[stem]
        answer = play(played.callers[name], call, workspace.slug, target)
        if stem in call.controlled:
            assert answer.status not in (401, 403, 404), (name, answer.text[:500])
        assert answer.status < 500
        if stem in call.shown:
            assert shows(answer, target), (name, stem, answer.status, answer.text[:500])


def test_a_number_of_many_digits_is_told_where_it_stands_alone():
    target = Target(stem=THEIRS, ids={"user": "1234567890", "entry": "77"})

    assert leaks_in('<a href="/people/1234567890"> 77', target, ()) == ["1234567890"]
    assert leaks_in("91234567890", target, ()) == []
    assert leaks_in("/people/1234567890", target, ["1234567890"]) == []


def test_a_number_that_is_also_the_status_makes_no_difference():
    likenesses = {
        Answer(status=404, headers={}, text='{"status": 404}', given={"space": number}).likeness[2]
        for number in ("404", "9")
    }
    assert len(likenesses) == 1


@pytest.mark.parametrize("name", sorted(OPEN))
def test_open_routes_tell_nothing_of_anybody(played, name):
    route = ROUTES[name]
    path = route.path({argument: _ARGUMENTS_OF_OPEN[argument] for argument in route.arguments})
    for caller in (played.callers[name] for name in sorted(_TRYING_MORE)):
        for method in set(route.methods) & {"get", "post", "put"}:
            answer = send_undone(caller, method, path)
            assert answer.status < 500
            assert not [leak for target in targets(played).values() for leak in answer.leaks(target)]
