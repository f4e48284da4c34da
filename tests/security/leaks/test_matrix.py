"""The leak matrix: no page shows a viewer, and no API route a token, anything of hidden objects.

`test_matrix_in_full.py` runs it with every caller.
"""

import pytest

from tests.security.leaks.answers import Answer, leaks_in, shows
from tests.security.leaks.calls import CALLS, OPEN
from tests.security.leaks.canaries import CLOSED, THEIRS, Target
from tests.security.leaks.matrix import SUBJECTS, TRYING_MORE, calls_about, faults_of, targets
from tests.security.leaks.requests import ROUTES, send_and_roll_back, send_call
from tests.security.leaks.routes import routes

_ARGUMENTS_OF_OPEN = {
    "name": "problem.v1",
    "provider_id": "company",
    "uid": "MQ",
    "token": "abc-0123456789",
    "token_id": "00000000-0000-0000-0000-000000000000",
    "secret": "abc",
    "slug": "anywhere",
    "job_id": "00000000-0000-0000-0000-000000000000",
}

#: The tokens that try each route of the API, one of them to administer; pages are for people.
_TRYING = {"api": {"token", "owner's app"}}


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
def test_hidden_is_answered_like_missing(stage_setting, subtests, subject):
    for call in calls_about(subject):
        with subtests.test(call=call.label):
            faults = faults_of(stage_setting, call, _TRYING.get(call.route.partition("-")[0], {"viewer"}))
            assert not faults, "\n".join(faults)


@pytest.mark.slow
@pytest.mark.parametrize("subject", SUBJECTS)
def test_authorised_callers_see_the_objects(stage_setting, subtests, subject):
    controls = {
        THEIRS: ("their owner", stage_setting.stage.theirs),
        CLOSED: ("owner", stage_setting.stage.ours),
    }
    for call in calls_about(subject):
        for stem, target in targets(stage_setting).items():
            name, workspace = controls[stem]
            with subtests.test(call=call.label, caller=name):
                answer = send_call(stage_setting.callers[name], call, workspace.slug, target)
                if stem in call.controlled:
                    assert answer.status not in (401, 403, 404), answer.text[:500]
                assert answer.status < 500
                assert stem not in call.shown or shows(answer, target), answer.text[:500]


def test_open_routes_reveal_nothing(stage_setting, subtests):
    for name in sorted(OPEN):
        route = ROUTES[name]
        path = route.path({argument: _ARGUMENTS_OF_OPEN[argument] for argument in route.arguments})
        for caller in (stage_setting.callers[name] for name in sorted(TRYING_MORE)):
            for method in set(route.methods) & {"get", "post", "put"}:
                with subtests.test(route=name, caller=caller.name, method=method):
                    answer = send_and_roll_back(caller, method, path)
                    assert answer.status < 500
                    assert not [
                        leak for target in targets(stage_setting).values() for leak in answer.leaks(target)
                    ]


def test_long_number_is_found_as_a_separate_word():
    target = Target(stem=THEIRS, ids={"user": "1234567890", "entry": "77"})

    assert leaks_in('<a href="/people/1234567890"> 77', target, ()) == ["1234567890"]
    assert leaks_in("91234567890", target, ()) == []
    assert leaks_in("/people/1234567890", target, ["1234567890"]) == []


def test_number_equal_to_the_status_is_ignored():
    likenesses = {
        Answer(status=404, headers={}, text='{"status": 404}', given={"space": number}).comparable[2]
        for number in ("404", "9")
    }
    assert len(likenesses) == 1
