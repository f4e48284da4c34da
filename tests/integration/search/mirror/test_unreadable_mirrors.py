"""Searches do without a temporarily unreadable mirror, report it, and keep the file."""

import os
import subprocess
import sys

import apsw
import pytest
from django.conf import settings as django_settings

from search.mirror import connections, local_mirrors
from search.mirror.connections import ReaderPool
from search.mirror.files import MirrorBusy
from search.mirror.sync.sync import sync_mirror
from search.retrieval.errors import NotSearchableYet
from search.retrieval.types import Mode
from tests.integration.search.mirror.inspection import texts
from tests.support.corpus import write
from tests.support.runtime import renew_runtime
from tests.support.search import ask, embed, finish_syncs, paths

# Whose process may write no byte finds what a full disk has for it: no room for the file of the locks.
READER = """
import resource, signal, sys, django
django.setup()
from pathlib import Path
from search.mirror.connections import ReaderPool
from search.mirror.files import MirrorBusy
signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
resource.setrlimit(resource.RLIMIT_FSIZE, (0, 0))
try:
    with ReaderPool().reader(Path(sys.argv[1])) as reader:
        print(reader.execute("SELECT count(*) FROM chunks").fetchone())
except MirrorBusy as error:
    print("busy:", error)
"""


@pytest.fixture
def mirrored_workspace(workspace, files):
    """Yield a workspace whose mirror is closed in all processes."""
    write(workspace, "a.md", "apple")
    embed(workspace)
    sync_mirror(files, workspace.pk)
    local_mirrors.reader_pool().close()
    yield workspace
    finish_syncs()


@pytest.fixture
def full_disk(mirrored_workspace, monkeypatch):
    """Make opening a mirror for reading fail as on a full disk."""
    real = connections._open_and_check

    def refuse_reading(path, flags):
        if flags == apsw.SQLITE_OPEN_READONLY:
            raise apsw.IOError("disk I/O error")
        return real(path, flags)

    monkeypatch.setattr(connections, "_open_and_check", refuse_reading)
    return mirrored_workspace


@pytest.mark.slow
def test_process_without_room_for_the_lock_file_finds_the_mirror_busy(mirrored_workspace, files):
    environment = {**os.environ, "DJANGO_SETTINGS_MODULE": "kebab.settings"}
    asked = subprocess.run(
        [sys.executable, "-c", READER, str(files.current())],
        env=environment,
        cwd=django_settings.BASE_DIR,
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    assert asked.stdout.startswith("busy: "), asked.stdout + asked.stderr
    assert texts(files) == {"a.md": ["apple"]}


def test_search_on_a_full_disk_answers_by_meaning_and_keeps_the_file(full_disk, files):
    generation = files.current()
    found = ask(full_disk, "apple", Mode.HYBRID)
    assert (paths(found), found.degraded) == (["a.md"], ("lexical",))
    assert ask(full_disk, "apple").degraded == ("lexical",)
    assert files.current() == generation


def test_change_waited_for_on_a_full_disk_is_not_searchable_yet(full_disk, settings):
    settings.KEBAB_WAIT_LIMIT_S = 0
    with pytest.raises(NotSearchableYet):
        ask(full_disk, "apple", min_seq=1)


@pytest.mark.parametrize("refusal", [apsw.IOError, apsw.FullError])
def test_disk_error_during_a_search_does_not_mark_the_mirror_damaged(mirrored_workspace, files, refusal):
    pool = ReaderPool()
    with pytest.raises(MirrorBusy), pool.reader(files.current()):
        raise refusal("disk I/O error")
    assert files.current().exists()
    pool.close()


def test_search_works_when_the_mirror_use_cannot_be_recorded(mirrored_workspace, files, monkeypatch):
    def full(path, **options):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("pathlib.Path.touch", full)
    files.record_use()
    renew_runtime()
    assert paths(ask(mirrored_workspace, "apple")) == ["a.md"]
