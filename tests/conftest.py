"""What all tests share."""

import gc
import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from kebab.tenancy.current_workspace import acting_everywhere
from tests.support.browser import browser, open_page  # noqa: F401  fixtures
from tests.support.database import close_owner_connection, replace_flush


@pytest.fixture(scope="session")
def django_db_modify_db_settings(servers: None) -> None:
    """Have the servers run before the test database is made."""


@pytest.fixture(scope="session")
def django_db_setup(django_db_setup: None, django_db_blocker: Any) -> Iterator[None]:
    """Drop the test database once no thread is left that uses it: one may be at its last words.

    With KEBAB_TEST_PARTS its large tables are cut into so many parts.
    """
    if parts := int(os.environ.get("KEBAB_TEST_PARTS", "0")):
        from search.corpus.partitions import partition_tables

        with django_db_blocker.unblock(), acting_everywhere():
            partition_tables(parts, memory_bytes=64 * 2**20, progress=lambda words, more: None)
    replace_flush()
    yield
    close_owner_connection()
    from tests.support.stack import GaveUp, eventually

    with django_db_blocker.unblock():
        try:
            eventually(lambda: not _others(), "nobody else uses the test database", 30)
        except GaveUp as error:
            error.add_note(f"Those do: {_others()}")
            raise


def _others() -> list[tuple[object, ...]]:
    """Who else uses the test database: its name, its state and what it asked last."""
    from django.db import connection

    gc.collect()  # a thread that has ended may have left its connection in a cycle
    connection.close()
    connection.close_pool()
    with connection.cursor() as cursor:
        cursor.execute(
            "SELECT application_name, backend_start::text, state, wait_event, query FROM pg_stat_activity"
            " WHERE datname = current_database() AND pid <> pg_backend_pid()"
        )
        return cursor.fetchall()


@pytest.fixture(scope="session", autouse=True)
def _acts_everywhere() -> Iterator[None]:
    """Tests see the rows of all workspaces; the requests that they make begin nowhere, as any."""
    with acting_everywhere():
        yield


@pytest.fixture(scope="session", autouse=True)
def _quick_and_unlimited() -> None:
    """Passwords are hashed quickly, a suite may send more bad ones than an attacker, on a busy machine."""
    from django.conf import settings

    settings.PASSWORD_HASHERS = ["django.contrib.auth.hashers.MD5PasswordHasher", *settings.PASSWORD_HASHERS]
    settings.KEBAB_COUNT_LIMIT_MS = 5_000
    settings.KEBAB_QUERY_LOG_EVERY_S = 0  # no thread writes beside the tests
    settings.KEBAB_BAD_TOKEN_LIMIT = "1000000/minute"
    settings.KEBAB_MAIL_LIMITS = dict.fromkeys(("account", "address"), "1000000/minute")
    settings.KEBAB_INVITATION_LIMITS = dict.fromkeys(("inviter", "workspace", "address"), "1000000/minute")
    settings.KEBAB_UNKNOWN_PEOPLE_LIMIT = "1000000/minute"
    settings.KEBAB_SIGN_IN_LIMITS = dict.fromkeys(("account", "address"), "1000000/minute")


@pytest.fixture(scope="session", autouse=True)
def _static_files_are_found_once() -> None:
    """Share what WhiteNoise finds: each client makes the middleware anew, a tenth of the time."""
    from whitenoise.middleware import WhiteNoiseMiddleware

    find, found = WhiteNoiseMiddleware.add_files_from_finders, {}

    def find_once(middleware: WhiteNoiseMiddleware) -> None:
        if not found:
            find(middleware)
            found.update(middleware.files)
        middleware.files.update(found)

    WhiteNoiseMiddleware.add_files_from_finders = find_once


@pytest.fixture(scope="session", autouse=True)
def _servers_run_already() -> None:
    """Commands called in this process use the servers of the suite and start none."""
    from kebab.stack.servers import borrowed_servers

    borrowed_servers._needs_no_servers = lambda stack, roles: True


@pytest.fixture(autouse=True)
def _role() -> Iterator[None]:
    """Commands set the role of this process; the next test finds it a one-off command again."""
    from kebab.runtime import role

    yield
    role._role = role.COMMAND


@pytest.fixture
def mirrors(tmp_path: Path, settings: object) -> Iterator[Path]:
    """Return a node's mirror folder of the test's own."""
    from search.mirror import local_mirrors

    settings.KEBAB_MIRROR_DIR = tmp_path / "mirrors"  # type: ignore[attr-defined]
    yield settings.KEBAB_MIRROR_DIR  # type: ignore[attr-defined]
    local_mirrors.reader_pool().close()


@pytest.fixture
def blobs(tmp_path: Path, settings: object) -> Path:
    """Return a folder of the test's own in which blobs are kept."""
    from tests.support.stores import stores_in

    settings.STORAGES = stores_in(tmp_path)["STORAGES"]  # type: ignore[attr-defined]
    return tmp_path / "blobs"


@pytest.fixture
def workspace(db: None) -> Any:
    """Return a workspace in the test's own transaction."""
    from tests.support.corpus import make_workspace

    return make_workspace()


@pytest.fixture
def other_workspace(db: None) -> Any:
    """Return another one."""
    from tests.support.corpus import make_workspace

    return make_workspace()


@pytest.fixture(scope="module")
def corpus(
    request: Any, django_db_setup: None, django_db_blocker: Any, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[tuple[Any, dict[str, object]] | None]:
    """Return a workspace that the module's `fill` has filled, committed once, and where its files are.

    None where the module has no `fill`.
    """
    from django.test import override_settings

    from tests.support.api import committed_workspace
    from tests.support.stores import stores_in

    if not hasattr(request.module, "fill"):
        yield None
        return
    folder = tmp_path_factory.mktemp(request.module.__name__.rpartition(".")[2].removeprefix("test_"))
    found_by = stores_in(folder)
    with (
        override_settings(**found_by),
        committed_workspace(django_db_blocker, folder / "mirrors", request.module.fill) as workspace,
    ):
        yield workspace, found_by


@pytest.fixture
def filled(db: None, corpus: tuple[Any, dict[str, object]], settings: Any) -> Any:
    """Return that workspace to a test, which may not commit into it."""
    workspace, found_by = corpus
    for name, value in found_by.items():
        setattr(settings, name, value)
    workspace.refresh_from_db()
    return workspace


@pytest.fixture(scope="session", autouse=True)
def _patience_with_searches() -> None:
    """A search may take longer here than users wait: many tests share a machine."""
    from django.conf import settings

    from search.engine import consistency, cursor_store
    from search.mirror import local_mirrors

    settings.KEBAB_LEG_LIMIT_MS = 60_000
    cursor_store._LIMIT_S = 5.0
    local_mirrors._FIRST_MIRROR_S = consistency._LIMIT_S = 30.0
    # Cancelled, it would also end the transaction that such a test is.
    settings.KEBAB_SEARCH_STATEMENT_LIMIT_MS = 30_000


@pytest.fixture(scope="session", autouse=True)
def _parsers() -> Iterator[None]:
    """The parsing processes are shared by all tests, and end with them."""
    yield
    from ingest.jobs.items.parser_pool import digester_pool  # needs Django, which is set up by now

    if digester_pool.cache_info().currsize:
        digester_pool().close()
        digester_pool.cache_clear()
