"""Fixtures of all tests."""

import gc
import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from kebab.tenancy.current_workspace import acting_everywhere
from tests.support.browser import browser, open_page  # noqa: F401  fixtures
from tests.support.database import close_owner_connection, replace_flush
from tests.support.standby import database_folder, pair  # noqa: F401  fixtures


@pytest.fixture(scope="session")
def django_db_modify_db_settings(servers: None) -> None:
    """Start the servers before the test database is created."""


@pytest.fixture(scope="session")
def django_db_setup(django_db_setup: None, django_db_blocker: Any) -> Iterator[None]:
    """Drop the test database once no other thread uses it.

    With KEBAB_TEST_PARTS, split its large tables into that many partitions.

    """
    if parts := int(os.environ.get("KEBAB_TEST_PARTS", "0")):
        from tests.support.partitions import partition_tables

        with django_db_blocker.unblock():
            partition_tables(parts)
    replace_flush()
    yield
    close_owner_connection()
    from tests.support.stack import GaveUp, eventually

    with django_db_blocker.unblock():
        try:
            eventually(lambda: not _other_clients(), "nobody else uses the test database", 30)
        except GaveUp as error:
            error.add_note(f"Those do: {_other_clients()}")
            raise


def _other_clients() -> list[tuple[object, ...]]:
    """Return the other clients of the test database: name, start, state, wait event and last query."""
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
    """Let tests see the rows of all workspaces; the requests that they send start without a workspace."""
    with acting_everywhere():
        yield


@pytest.fixture(scope="session", autouse=True)
def _quick_and_unlimited() -> None:
    """Use fast password hashing, and raise the limits that a whole suite on a busy machine would exceed."""
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
    """Share the files that WhiteNoise finds: scanning for each client would take a tenth of the time."""
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
    """Let commands called in this process use the servers of the suite."""
    from kebab.stack.servers import borrowed_servers

    borrowed_servers._needs_no_servers = lambda stack, roles: True


@pytest.fixture(autouse=True)
def _role() -> Iterator[None]:
    """Reset the process role after each test, as commands set it."""
    from kebab.runtime import role

    yield
    role._role = role.COMMAND


@pytest.fixture
def mirrors(tmp_path: Path, settings: object) -> Iterator[Path]:
    """Return the test's own mirror folder."""
    from search.mirror import local_mirrors

    settings.KEBAB_MIRROR_DIR = tmp_path / "mirrors"
    yield settings.KEBAB_MIRROR_DIR
    local_mirrors.reader_pool().close()


@pytest.fixture
def blobs(tmp_path: Path, settings: object) -> Path:
    """Return the test's own blob folder."""
    from tests.support.stores import stores_in

    settings.STORAGES = stores_in(tmp_path)["STORAGES"]
    return tmp_path / "blobs"


@pytest.fixture
def workspace(db: None) -> Any:
    """Return a workspace in the test's transaction."""
    from tests.support.corpus import make_workspace

    return make_workspace()


@pytest.fixture
def other_workspace(db: None) -> Any:
    """Return a second workspace."""
    from tests.support.corpus import make_workspace

    return make_workspace()


@pytest.fixture(scope="module")
def corpus(
    request: Any, django_db_setup: None, django_db_blocker: Any, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[tuple[Any, dict[str, object]] | None]:
    """Return the committed workspace that the module's `fill` has filled, and its storage settings.

    None when the module has no `fill`.

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
    """Return the module's workspace for a test, which may not commit into it."""
    workspace, found_by = corpus
    for name, value in found_by.items():
        setattr(settings, name, value)
    workspace.refresh_from_db()
    return workspace


@pytest.fixture(scope="session", autouse=True)
def _patience_with_searches() -> None:
    """Raise the time limits of searches, as many tests share a machine."""
    from django.conf import settings

    from search.engine import cursors, search
    from search.mirror import local_mirrors

    settings.KEBAB_LEG_LIMIT_MS = settings.KEBAB_SEARCH_LIMIT_MS = 60_000
    settings.KEBAB_BULK_LIMIT_S = 60
    cursors._LIMIT_S = 5.0
    local_mirrors._FIRST_MIRROR_S = search._LIMIT_S = 30.0
    # The limit would also cancel the transaction that such a test runs in.
    settings.KEBAB_SEARCH_STATEMENT_LIMIT_MS = 30_000


@pytest.fixture(scope="session", autouse=True)
def _parsers() -> Iterator[None]:
    """Close the shared parser processes at the end of the session."""
    yield
    from ingest.jobs.items.worker import digester_pool  # needs Django, which is set up by now

    if digester_pool.cache_info().currsize:
        digester_pool().close()
        digester_pool.cache_clear()
