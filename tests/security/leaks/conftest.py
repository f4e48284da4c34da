"""The stage, committed once for all tests of the folder, and its callers."""

from dataclasses import dataclass
from itertools import count

import pytest
from django.test import override_settings

from kebab.identity.models import User
from kebab.people.operator import command_line_access
from kebab.people.workspaces import delete_workspace
from kebab.tenancy.current_workspace import acting_everywhere
from search.mirror import local_mirrors
from tests.security.leaks.callers import UNKNOWN, Caller, make_callers, rejected_callers
from tests.security.leaks.stage import Stage, build_stage
from tests.support.api import forget_acts
from tests.support.stores import stores_in

_numbers = count(1)


@dataclass(frozen=True, kw_only=True)
class Setting:
    """A stage with its callers and the settings of its files."""

    stage: Stage
    callers: dict[str, Caller]
    stores: dict[str, object]

    def files(self) -> override_settings:
        """Return a context in which mirrors and blobs are this setting's."""
        return override_settings(**self.stores)


@pytest.fixture(scope="package")
def setting(django_db_setup, django_db_blocker, tmp_path_factory):
    """Yield the committed setting: mirrors contain committed rows only, and streams read in other threads."""
    stores = stores_in(tmp_path_factory.mktemp("leaks"))
    number = next(_numbers)
    people = User.objects.all()
    with django_db_blocker.unblock(), acting_everywhere():
        known = set(people.values_list("pk", flat=True))
        with override_settings(**stores):
            stage = build_stage(number)
            callers = make_callers(stage)
            for workspace in (stage.ours, stage.twin, stage.theirs):
                local_mirrors.wait_for_seq(workspace.pk, workspace.head_seq, limit_s=30)
            assert rejected_callers(callers) == UNKNOWN
    yield Setting(stage=stage, callers=dict(callers), stores=stores)
    local_mirrors.reader_pool().close()
    with django_db_blocker.unblock(), acting_everywhere():
        with override_settings(**stores):
            refused_at_the_end = rejected_callers(callers)
            for workspace in (stage.ours, stage.twin, stage.theirs):
                delete_workspace(command_line_access(workspace))
        people.exclude(pk__in=known).delete()
        forget_acts()
    assert refused_at_the_end == UNKNOWN


@pytest.fixture
def stage_setting(db, setting, settings):
    """Return the setting for one test, whose writes are rolled back; no leg of a search times out."""
    for name, value in setting.stores.items():
        setattr(settings, name, value)
    return setting
