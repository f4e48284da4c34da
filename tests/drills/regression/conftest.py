"""Measured corpora, made once a module: the judged set, and workspaces of different size."""

from collections.abc import Callable, Mapping
from contextlib import contextmanager

import pytest
from django.test import override_settings

from kebab.people.deletion import delete_workspace
from kebab.people.operator import command_line_access
from search.embedders import configured
from search.mirror import local_mirrors
from search.runtime import runtime
from tests.drills.regression import judged_set
from tests.drills.regression.corpora import made_workspaces
from tests.drills.regression.guards import figure_lines
from tests.drills.regression.python_work import InCallingThread
from tests.support.actors import make_workspace
from tests.support.api import forget_acts
from tests.support.stores import stores_in

_PATIENCE_MS = 120_000
_FIGURES = pytest.StashKey[dict[str, dict[str, float]]]()


def _own_places(folder):
    """Settings with which nothing is shared with other tests, and no leg is stopped, however busy it is."""
    return {
        **stores_in(folder),
        "KEBAB_LEG_LIMIT_MS": _PATIENCE_MS,
        # What is planned once does not mind what planners are told later.
        "KEBAB_PLAN_ONCE": False,
        "KEBAB_SEARCH_STATEMENT_LIMIT_MS": _PATIENCE_MS,
    }


@pytest.fixture(scope="module")
def judged(django_db_setup, django_db_blocker, tmp_path_factory):
    """The judged set in a workspace, embedded by the default model; searches use that model, too."""
    folder = tmp_path_factory.mktemp("judged")
    with django_db_blocker.unblock(), override_settings(KEBAB_EMBEDDER="default", **_own_places(folder)):
        configured.clear_query_caches()
        workspace = make_workspace()
        judged_set.load(workspace, folder / "set")
        yield workspace
        delete_workspace(command_line_access(workspace))
        forget_acts()
        local_mirrors.reader_pool().close()
    configured.clear_query_caches()


@contextmanager
def _made(folder, *sizes):
    with override_settings(**_own_places(folder)):
        configured.clear_query_caches()
        with made_workspaces(*sizes) as made:
            yield made
        local_mirrors.reader_pool().close()
    configured.clear_query_caches()


@pytest.fixture(scope="module")
def small(django_db_setup, django_db_blocker, tmp_path_factory):
    """The small workspace alone."""
    with django_db_blocker.unblock(), _made(tmp_path_factory.mktemp("small"), "small") as made:
        yield made["small"]


@pytest.fixture(scope="module")
def sizes(django_db_setup, django_db_blocker, tmp_path_factory):
    """The small and the large workspace."""
    with django_db_blocker.unblock(), _made(tmp_path_factory.mktemp("sizes"), "small", "large") as made:
        yield made


@pytest.fixture
def one_thread(monkeypatch):
    """Legs run one after the other."""
    monkeypatch.setattr(runtime(), "leg_executor", InCallingThread())


@pytest.fixture
def noted(request) -> Callable[[str, Mapping[str, float]], Mapping[str, float]]:
    """Note figures under a name, for `pytest -v` to show them beside their budgets, and give them."""

    def note(name, figures):
        request.config.stash.setdefault(_FIGURES, {}).setdefault(name, {}).update(figures)
        return figures

    return note


def pytest_terminal_summary(terminalreporter, config):
    """Show what was measured where the session was asked to say more than usual."""
    if config.get_verbosity() > 0 and _FIGURES in config.stash:
        terminalreporter.section("figures and their budgets")
        for name, figures in config.stash[_FIGURES].items():
            for line in figure_lines(name, figures):
                terminalreporter.write_line(line)
