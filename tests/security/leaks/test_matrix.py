"""The leak matrix: no page tells a viewer and no API route a token of what they may not see.

`test_matrix_in_full.py` plays it with every caller.
"""

import pytest

from tests.security.leaks.calls import CALLS, OPEN
from tests.security.leaks.canaries import CLOSED, THEIRS, Target
from tests.security.leaks.looking import Answer, leaks_in, shows
from tests.security.leaks.matrix import SUBJECTS, TRYING_MORE, calls_about, faults_of, targets
from tests.security.leaks.playing import ROUTES, play, send_undone
from tests.security.leaks.routes import routes

_ARGUMENTS_OF_OPEN = {
    "name": "problem.v1",
    "provider_id": "company",
    "uid": "MQ",
    "token": "abc-0123456789",
    "secret": "abc",
}


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


@pytest.mark.parametrize("subject", SUBJECTS)
def test_hidden_is_answered_like_missing(played, subtests, subject):
    for call in calls_about(subject):
        with subtests.test(call=call.label):
            faults = faults_of(played, call, {"token" if call.route.startswith("api-") else "viewer"})
            assert not faults, "\n".join(faults)


@pytest.mark.slow
@pytest.mark.parametrize("subject", SUBJECTS)
def test_those_who_may_see_it_do(played, subtests, subject):
    controls = {THEIRS: ("their owner", played.stage.theirs), CLOSED: ("owner", played.stage.ours)}
    for call in calls_about(subject):
        for stem, target in targets(played).items():
            name, workspace = controls[stem]
            with subtests.test(call=call.label, caller=name):
                answer = play(played.callers[name], call, workspace.slug, target)
                if stem in call.controlled:
                    assert answer.status not in (401, 403, 404), answer.text[:500]
                assert answer.status < 500
                assert stem not in call.shown or shows(answer, target), answer.text[:500]


def test_open_routes_tell_nothing_of_anybody(played, subtests):
    for name in sorted(OPEN):
        route = ROUTES[name]
        path = route.path({argument: _ARGUMENTS_OF_OPEN[argument] for argument in route.arguments})
        for caller in (played.callers[name] for name in sorted(TRYING_MORE)):
            for method in set(route.methods) & {"get", "post", "put"}:
                with subtests.test(route=name, caller=caller.name, method=method):
                    answer = send_undone(caller, method, path)
                    assert answer.status < 500
                    assert not [leak for target in targets(played).values() for leak in answer.leaks(target)]


def test_a_number_of_many_digits_is_found_where_it_stands_alone():
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
