import os
import shutil
import signal
import subprocess
import tempfile
from contextlib import closing
from pathlib import Path

import dj_database_url
import psycopg
import pytest

from kebab.stack.errors import DatabaseUnsuitable, PathRefused, ServerFailed
from kebab.stack.paths import DataDirectory
from kebab.stack.servers.addresses import DATABASE_OWNER, database_url
from kebab.stack.servers.os_user import database_account
from kebab.stack.servers.postgres import EmbeddedPostgres
from kebab.stack.servers.postgres_requirements import check_requirements, pgvector_warning
from tests.integration.kebab.stack.conftest import is_running
from tests.integration.kebab.stack.databases import ask, do, needs_root

_RIGHTS = (
    "SELECT rolcanlogin, rolsuper OR rolbypassrls OR rolcreatedb OR rolcreaterole"
    " FROM pg_roles WHERE rolname = 'kebab_app'"
)


@pytest.fixture(scope="module")
def template():
    """Make a cluster once for the tests that only need one."""
    parent = Path(tempfile.mkdtemp(prefix="kebab-template-"))
    parent.chmod(0o755)
    with EmbeddedPostgres(parent / "data"):
        pass
    yield parent / "data"
    shutil.rmtree(parent)


@pytest.fixture
def cluster_dir(template, data_dir):
    subprocess.run(["/bin/cp", "-a", str(template), str(data_dir)], check=True)
    return data_dir


def test_fresh_database_replaces_a_half_made_one_and_leaves_modes_of_folders(data_dir):
    data_dir.mkdir()
    data_dir.chmod(0o755)
    folders = [data_dir, *data_dir.parents]
    before = [(folder.stat().st_mode, folder.stat().st_uid) for folder in folders]
    DataDirectory(data_dir).ensure()
    half = data_dir / "postgres.new"  # of a killed initdb
    half.mkdir()
    (half / "PG_VERSION").write_text("18\n")
    with EmbeddedPostgres(data_dir) as server:
        assert ask(data_dir, "SELECT '[1,2]'::halfvec <-> '[1,2]'::halfvec") == 0
        assert ask(data_dir, "SHOW server_encoding") == "UTF8"
        assert ask(data_dir, "SELECT current_setting('server_version_num')::int / 10000") == 18
        assert ask(data_dir, "SHOW listen_addresses") == ""
        assert server.socket_folder.stat().st_mode & 0o777 == 0o700
        with closing(psycopg.connect(database_url(data_dir))) as connection:
            assert connection.execute("SELECT current_user").fetchone() == ("kebab_app",)
            assert connection.execute(_RIGHTS).fetchone() == (True, False)
            with pytest.raises(psycopg.errors.InsufficientPrivilege):
                connection.execute("CREATE TABLE mine ()")
    assert not half.exists()
    assert [(folder.stat().st_mode, folder.stat().st_uid) for folder in folders] == before


@pytest.mark.parametrize("before", ["DROP ROLE kebab_app", "ALTER ROLE kebab_app SUPERUSER BYPASSRLS"])
def test_restart_keeps_the_data_and_restores_the_rights_of_the_role(cluster_dir, before):
    with EmbeddedPostgres(cluster_dir) as server:
        do(cluster_dir, before)
        do(cluster_dir, "CREATE TABLE kept AS SELECT 7 AS number")
        pid = server.pid
    assert not is_running(pid)
    with EmbeddedPostgres(cluster_dir), closing(psycopg.connect(database_url(cluster_dir))) as connection:
        assert connection.execute(_RIGHTS).fetchone() == (True, False)
        assert ask(cluster_dir, "SELECT number FROM kept") == 7


@pytest.mark.slow
def test_killed_postmaster_is_started_again_though_its_pid_is_anothers(cluster_dir):
    with EmbeddedPostgres(cluster_dir) as server:
        do(cluster_dir, "CREATE TABLE kept AS SELECT 7 AS number")
        folder, first = Path(ask(cluster_dir, "SHOW data_directory")), server.pid
        os.kill(first, signal.SIGKILL)
        server.wait()
        lines = (folder / "postmaster.pid").read_text().split("\n")
        (folder / "postmaster.pid").write_text("\n".join([str(os.getpid()), *lines[1:]]))
        server.start()
        assert server.pid != first
        assert ask(cluster_dir, "SELECT number FROM kept") == 7


def test_failure_shows_the_end_of_the_log(cluster_dir):
    with (cluster_dir / "postgres" / "postgresql.conf").open("a") as configuration:
        configuration.write("no_such_setting = 1\n")
    with pytest.raises(ServerFailed, match="no_such_setting"):
        EmbeddedPostgres(cluster_dir).start()


def test_socket_path_may_contain_capitals_and_spaces(cluster_dir):
    with tempfile.TemporaryDirectory(prefix="Ké bab ") as odd:
        Path(odd).chmod(0o755)
        with EmbeddedPostgres(cluster_dir, runtime_dir=odd) as server:
            url = database_url(cluster_dir, odd)
            with closing(psycopg.connect(url)) as connection:
                assert connection.execute("SELECT 1").fetchone() == (1,)
            assert dj_database_url.parse(url)["HOST"] == str(server.socket_folder)


@needs_root
def test_missing_user_and_database_of_another_user_are_refused(template, data_dir):
    with pytest.raises(PathRefused, match=r"kebab-nobody-such.*KEBAB_POSTGRES_USER"):
        database_account("kebab-nobody-such")
    DataDirectory(data_dir).ensure()
    shutil.rmtree(data_dir / "postgres", ignore_errors=True)
    shutil.copytree(template / "postgres", data_dir / "postgres")
    with pytest.raises(PathRefused, match=r"\b0\b.*\b65534\b"):
        EmbeddedPostgres(data_dir, user="nobody").start()


class TestRequirements:
    """Checks of a database before its first migration."""

    @pytest.fixture
    def database(self, cluster_dir):
        """Yield the superuser's connection to a new database, beside a role `plain` without rights."""
        with EmbeddedPostgres(cluster_dir):
            for statement in (
                "CREATE ROLE plain LOGIN",
                "CREATE DATABASE team",
                "REVOKE ALL ON DATABASE team FROM public",
                "GRANT CONNECT ON DATABASE team TO plain",
            ):
                self.run(cluster_dir, statement)
            url = database_url(cluster_dir, role=DATABASE_OWNER)
            with closing(psycopg.connect(url, dbname="team", autocommit=True)) as connection:
                yield connection

    def run(self, data_dir, statement):
        url = database_url(data_dir, role=DATABASE_OWNER)
        with closing(psycopg.connect(url, autocommit=True)) as connection:
            connection.execute(statement)

    def test_missing_database_rights_are_reported_with_the_sql_to_run(self, database):
        check_requirements(database)
        database.execute("SET ROLE plain")
        with pytest.raises(DatabaseUnsuitable, match="CREATE EXTENSION vector"):
            check_requirements(database)
        database.execute("RESET ROLE")
        database.execute("CREATE EXTENSION vector")
        database.execute("SET ROLE plain")
        with pytest.raises(DatabaseUnsuitable, match='ALTER DATABASE "team" OWNER TO "plain"'):
            check_requirements(database)
        database.execute("RESET ROLE")
        database.execute("ALTER DATABASE team OWNER TO plain")
        database.execute("SET ROLE plain")
        check_requirements(database)


def test_old_pgvector_version_is_warned_of_with_its_cve():
    assert pgvector_warning((0, 8, 4)) == ""
    assert "CVE" not in pgvector_warning((0, 8, 2))
    assert "CVE-2026-3172" in pgvector_warning((0, 8, 1))
