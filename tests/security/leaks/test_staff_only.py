"""The admin rejects everybody but operators, for existing and missing objects alike."""

from itertools import product

import pytest
from django.apps import apps

from kebab.identity.models import Workspace
from tests.security.leaks.answers import shows
from tests.security.leaks.requests import send_and_roll_back
from tests.security.leaks.routes import routes

_ADMIN = [route for route in routes() if route.pattern.startswith("admin/")]
_NOT_STAFF = ("nobody", "owner", "token")


def _object_id(route, stage_setting):
    """Return the id of a hidden object of the route's model, and a missing one."""
    model = _model(route)
    if model is None:
        return "1", "999999"
    rows = model._default_manager.all()
    names = {field.name for field in model._meta.get_fields()}
    if model is Workspace:
        rows = rows.filter(pk=stage_setting.stage.theirs.pk)
    elif "workspace" in names:
        rows = rows.filter(workspace=stage_setting.stage.theirs)
    row = rows.first()
    return ("1", "999999") if row is None else (str(row.pk), "999999")


def _model(route):
    parts = route.pattern.split("/")
    try:
        return apps.get_model(parts[1], parts[2])
    except (LookupError, IndexError, ValueError):
        return None


def _path(route, object_id):
    values = {"app_label": "people", "content_type_id": "1", "url": "people/user/1"}
    return route.path({name: values.get(name, object_id) for name in route.arguments})


def _section(route):
    return "/".join(route.pattern.split("/")[1:3])


@pytest.mark.parametrize("section", sorted(set(map(_section, _ADMIN))))
def test_admin_rejects_everybody_but_staff(stage_setting, subtests, section):
    for route in (each for each in _ADMIN if _section(each) == section):
        there, nowhere = (_path(route, each) for each in _object_id(route, stage_setting))
        for name, method in product(_NOT_STAFF, {"get", "post"} & set(route.methods)):
            with subtests.test(route=route.pattern, caller=name, method=method):
                hidden, absent = (
                    send_and_roll_back(stage_setting.callers[name], method, path, given={"id": path})
                    for path in (there, nowhere)
                )
                assert hidden.status in (302, 403, 404, 405)
                assert hidden.status == absent.status
                for target in (stage_setting.stage.hidden, stage_setting.stage.closed):
                    assert not hidden.leaks(target)


def test_admin_shows_objects_to_an_operator(stage_setting):
    seen = [
        route.pattern
        for route in _ADMIN
        if route.name.endswith("_changelist")
        and shows(
            send_and_roll_back(stage_setting.callers["operator"], "get", _path(route, "")),
            stage_setting.stage.hidden,
        )
    ]

    assert {"admin/people/workspace/", "admin/people/apitoken/"} <= set(seen)
