"""Many workspaces on one node: open files and the cost of following are bounded.

KEBAB_TEST_WORKSPACES makes it more of them than the few that show it.
"""

import gc
import os
import threading

import psutil
import pytest

from kebab.identity.models import Workspace
from search.mirror import local_mirrors
from search.mirror.checks import _MOST_ROWS, mirror_rows
from search.mirror.connections import _IDLE_READERS
from search.mirror.files import MirrorFiles
from search.mirror.sync import sync
from search.mirror.sync.follow import MirrorFollower
from search.mirror.sync.sync import sync_mirror
from search.query_log.storage import prune_queries
from tests.integration.search.engine.statements import noted_statements
from tests.pages.query_log.factories import make_query
from tests.support.corpus import make_workspace, write
from tests.support.search import ask, paths

NUMBER = int(os.environ.get("KEBAB_TEST_WORKSPACES", "250"))
# The file, its log, its index in shared memory.
FILES_OF_A_READER = 3

pytestmark = [pytest.mark.slow, pytest.mark.django_db(transaction=True)]


@pytest.fixture
def many(transactional_db, mirrors):
    workspaces = [make_workspace() for _ in range(NUMBER)]
    for workspace in workspaces:
        write(workspace, "a.md", "apple")
        sync_mirror(MirrorFiles.of(mirrors, workspace.pk), workspace.pk)
    return workspaces


@pytest.fixture
def queries():
    with noted_statements() as sent:
        yield sent


def test_searching_many_workspaces_keeps_few_files_open(many):
    process = psutil.Process()
    ask(many[0], "apple")
    files, threads = process.num_fds(), threading.active_count()
    for workspace in many:
        assert paths(ask(workspace, "apple")) == ["a.md"]
    assert process.num_fds() <= files + FILES_OF_A_READER * _IDLE_READERS
    assert threading.active_count() <= threads
    local_mirrors.reader_pool().close()
    assert process.num_fds() <= files


def test_following_many_idle_workspaces_costs_one_statement(many, mirrors, monkeypatch, queries):
    process = psutil.Process()
    follower = MirrorFollower(mirrors, threading.Event())
    while follower.catch_up():
        pass
    gc.collect()
    files, threads = process.num_fds(), threading.active_count()
    queries.clear()
    follower.catch_up()
    assert len(queries) == 1

    write(many[7], "b.md", "pear")
    synced = []
    real = sync.sync_mirror
    monkeypatch.setattr(
        sync, "sync_mirror", lambda *given, **named: (synced.append(given[1]), real(*given, **named))[1]
    )
    follower.catch_up()
    assert synced == [many[7].pk]
    assert process.num_fds() <= files
    assert threading.active_count() <= threads


def test_status_shows_some_of_very_many_mirrors(many):
    rows = mirror_rows()
    assert len(rows) == min(NUMBER, _MOST_ROWS)
    assert all(row["lag"] == 0 for row in rows)


def test_pruning_looks_only_at_workspaces_that_have_something_old(many, queries):
    make_query(many[3], "old", days_ago=400)
    make_query(many[4], "new", days_ago=1)
    queries.clear()
    assert prune_queries() == 1
    assert len(queries) < 12
    Workspace.objects.filter(pk=many[4].pk).update(settings={"queries_kept_days": 0})
    assert prune_queries() == 1
