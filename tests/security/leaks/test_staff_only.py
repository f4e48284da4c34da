"""The admin is the operators': whoever else asks is sent away, whatever there is."""

from itertools import product

import pytest
from django.apps import apps

from kebab.people.models import Workspace
from tests.security.leaks.looking import shows
from tests.security.leaks.playing import send_undone
from tests.security.leaks.routes import routes

_ADMIN = [route for route in routes() if route.pattern.startswith("admin/")]
_NOT_STAFF = ("nobody", "owner", "token")


def _object_id(route, played):
    """The id of something hidden of the model that the route is about, and one of nothing."""
    model = _model(route)
    if model is None:
        return "1", "999999"
    rows = model._default_manager.all()
    names = {field.name for field in model._meta.get_fields()}
    if model is Workspace:
        rows = rows.filter(pk=played.stage.theirs.pk)
    elif "workspace" in names:
        rows = rows.filter(workspace=played.stage.theirs)
    row = rows.first()
    return ("1", "999999") if row is None else (str(row.pk), "999999")


def _model(route):
    parts = route.pattern.split("/")
    try:
        return apps.get_model(parts[1], parts[2])
    except (LookupError, IndexError, ValueError):
        return None


def _path(route, object_id):
    values = {"app_label": "people", "content_type_id": "1", "url": "people/user/1", "act_name": "delete"}
    return route.path({name: values.get(name, object_id) for name in route.arguments})


def _section(route):
    return "/".join(route.pattern.split("/")[1:3])


@pytest.mark.parametrize("section", sorted(set(map(_section, _ADMIN))))
def test_nobody_but_staff_sees_anything_of_the_admin(played, subtests, section):
    for route in (each for each in _ADMIN if _section(each) == section):
        there, nowhere = (_path(route, each) for each in _object_id(route, played))
        for name, method in product(_NOT_STAFF, {"get", "post"} & set(route.methods)):
            with subtests.test(route=route.pattern, caller=name, method=method):
                hidden, absent = (
                    send_undone(played.callers[name], method, path, given={"id": path})
                    for path in (there, nowhere)
                )
                assert hidden.status in (302, 403, 404, 405)
                assert hidden.status == absent.status
                for target in (played.stage.hidden, played.stage.closed):
                    assert not hidden.leaks(target)


def test_an_operator_sees_what_there_is(played):
    seen = [
        route.pattern
        for route in _ADMIN
        if route.name.endswith("_changelist")
        and shows(send_undone(played.callers["operator"], "get", _path(route, "")), played.stage.hidden)
    ]

    assert {"admin/people/workspace/", "admin/people/apitoken/"} <= set(seen)
