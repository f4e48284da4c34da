"""A pytest plugin, loaded before Django's settings, that starts the servers of the tests.

Without `KEBAB_DATA_DIR` the tests get a data directory of their own, which goes with the session. The
embedded servers start when the first test asks for the database.
"""

import os
import shutil
import tempfile
from collections.abc import Iterator
from pathlib import Path

import psycopg
import pytest
import redis

# Processes that share the tests inherit the environment of the first, and have servers of their own.
_OWN_DIRECTORY = "KEBAB_DATA_DIR" not in os.environ or "PYTEST_XDIST_WORKER" in os.environ
if _OWN_DIRECTORY:
    _path = Path(tempfile.mkdtemp(prefix="kebab-suite-"))
    # Postgres runs as another user when root runs the tests: let it pass through.
    _path.chmod(0o711)
    os.environ["KEBAB_DATA_DIR"] = str(_path)
os.environ.setdefault("KEBAB_EMBEDDER", "hash")
os.environ.setdefault("KEBAB_NODE_ID", "test-node")


def pytest_unconfigure() -> None:
    """Remove the session's own data directory."""
    if _OWN_DIRECTORY:
        shutil.rmtree(os.environ["KEBAB_DATA_DIR"], ignore_errors=True)


@pytest.fixture(scope="session")
def servers() -> Iterator[None]:
    """Run the embedded Postgres and Redis until the session ends."""
    from django.conf import settings

    from kebab.stack.paths import DataDirectory
    from kebab.stack.servers import addresses
    from kebab.stack.servers.postgres import EmbeddedPostgres
    from kebab.stack.servers.redis import EmbeddedRedis

    DataDirectory(settings.KEBAB_DATA_DIR).ensure()
    with EmbeddedPostgres(settings.KEBAB_DATA_DIR), EmbeddedRedis(settings.KEBAB_DATA_DIR):
        # No test outlives a power cut, so that none need wait for the disk.
        owner_url = addresses.database_url(settings.KEBAB_DATA_DIR, role=addresses.DATABASE_OWNER)
        with psycopg.connect(owner_url, autocommit=True) as owner:
            owner.execute("ALTER SYSTEM SET fsync = off")
            owner.execute("ALTER SYSTEM SET full_page_writes = off")
            owner.execute("ALTER SYSTEM SET synchronous_commit = off")
            # Nor does a plan depend on when a table was vacuumed: who asks for plans has it counted.
            owner.execute("ALTER SYSTEM SET autovacuum = off")
            owner.execute("SELECT pg_reload_conf()")
        redis_url = addresses.redis_client_url(addresses.redis_url(settings.KEBAB_DATA_DIR))
        with redis.Redis.from_url(redis_url) as client:
            client.config_set("appendfsync", "no")
        yield
