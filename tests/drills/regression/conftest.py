"""Measured corpora, created once per module: judged set, handbook, and workspaces of different sizes."""

from collections.abc import Callable, Mapping
from contextlib import contextmanager

import pytest
from django.conf import settings
from django.test import override_settings

from ingest.cli.demo.corpus import write_corpus
from kebab.people.operator import command_line_access
from kebab.people.workspaces import delete_workspace
from search.embedders import configured
from search.mirror import local_mirrors
from tests.drills.evaluation import handbook
from tests.drills.regression import judged_set
from tests.drills.regression.corpora import created_workspaces
from tests.drills.regression.guards import figure_lines
from tests.drills.regression.python_work import InCallingThread
from tests.support.actors import make_workspace
from tests.support.api import forget_acts
from tests.support.stores import stores_in

_PATIENCE_MS = 120_000
#: The packages whose READMEs are ingested: those that are looked for, and some about the same.
DEMO_PACKAGES = frozenset(
    {"billiard", "celery", "celery-types", "click", "kombu", "numpy", "rich", "scipy", "tqdm"}
)
_FIGURES = pytest.StashKey[dict[str, dict[str, float]]]()


def _isolated_settings(folder):
    """Return settings that share nothing with other tests and let no leg time out."""
    return {
        **stores_in(folder),
        "KEBAB_LEG_LIMIT_MS": _PATIENCE_MS,
        # Plans are made once, so that later statistics don't change them.
        "KEBAB_PLAN_ONCE": False,
        "KEBAB_SEARCH_STATEMENT_LIMIT_MS": _PATIENCE_MS,
    }


@contextmanager
def _embedded_workspace(folder, embedder="default"):
    """Yield an empty workspace that a local model embeds, which searches use, too."""
    with override_settings(KEBAB_EMBEDDER=embedder, **_isolated_settings(folder)):
        configured.clear_query_caches()
        workspace = make_workspace()
        yield workspace
        delete_workspace(command_line_access(workspace))
        forget_acts()
        local_mirrors.reader_pool().close()
    configured.clear_query_caches()


@pytest.fixture(scope="module")
def judged_workspace(django_db_setup, django_db_blocker, tmp_path_factory):
    """Yield the judged set in a workspace with the English model, of which its floors are."""
    folder = tmp_path_factory.mktemp("judged")
    with django_db_blocker.unblock(), _embedded_workspace(folder, "english") as workspace:
        judged_set.load(workspace, folder / "set")
        yield workspace


@pytest.fixture(scope="module")
def handbook_workspace(django_db_setup, django_db_blocker, tmp_path_factory):
    """Yield the made-up handbook in a workspace."""
    folder = tmp_path_factory.mktemp("handbook")
    with django_db_blocker.unblock(), _embedded_workspace(folder) as workspace:
        handbook.load(workspace)
        yield workspace


@pytest.fixture(scope="module")
def demo_workspace(django_db_setup, django_db_blocker, tmp_path_factory):
    """Yield the documents of the demonstration, without Kebab's own and most packages, in a workspace."""
    folder = tmp_path_factory.mktemp("demo")
    write_corpus(folder / "files", settings.BASE_DIR)
    for path in (*folder.glob("files/kebab/**/*.md"), *folder.glob("files/packages/*")):
        if path.stem not in DEMO_PACKAGES:
            path.unlink()
    with django_db_blocker.unblock(), _embedded_workspace(folder) as workspace:
        handbook.load(workspace, folder / "files")
        yield workspace


@contextmanager
def _created_workspaces(folder, *sizes):
    with override_settings(**_isolated_settings(folder)):
        configured.clear_query_caches()
        with created_workspaces(*sizes) as created:
            yield created
        local_mirrors.reader_pool().close()
    configured.clear_query_caches()


@pytest.fixture(scope="module")
def small(django_db_setup, django_db_blocker, tmp_path_factory):
    """Yield the small workspace."""
    with (
        django_db_blocker.unblock(),
        _created_workspaces(tmp_path_factory.mktemp("small"), "small") as created,
    ):
        yield created["small"]


@pytest.fixture(scope="module")
def sizes(django_db_setup, django_db_blocker, tmp_path_factory):
    """Yield the small and the large workspace by size."""
    with (
        django_db_blocker.unblock(),
        _created_workspaces(tmp_path_factory.mktemp("sizes"), "small", "large") as created,
    ):
        yield created


@pytest.fixture
def one_thread(monkeypatch):
    """Run legs one after another in the calling thread."""
    monkeypatch.setattr(local_mirrors, "leg_executor", InCallingThread)


@pytest.fixture
def record_figures(request) -> Callable[[str, Mapping[str, float]], Mapping[str, float]]:
    """Return a function that records and returns figures, which `pytest -v` shows beside their budgets."""

    def record(name, figures):
        request.config.stash.setdefault(_FIGURES, {}).setdefault(name, {}).update(figures)
        return figures

    return record


def pytest_terminal_summary(terminalreporter, config):
    """Show the recorded figures in verbose runs."""
    if config.get_verbosity() > 0 and _FIGURES in config.stash:
        terminalreporter.section("figures and their budgets")
        for name, figures in config.stash[_FIGURES].items():
            for line in figure_lines(name, figures):
                terminalreporter.write_line(line)
