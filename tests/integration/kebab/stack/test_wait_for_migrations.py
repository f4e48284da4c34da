from threading import Thread

import psycopg
import pytest
from django.db import connections

from kebab.stack.nodes import wait_for_migrations
from kebab.stack.nodes.wait_for_migrations import wait_until_migrated
from kebab.tenancy.roles import OWNER
from tests.support.stack import eventually

pytestmark = pytest.mark.django_db(transaction=True, databases=["default", OWNER])
_LAST = ("stack", "0003_blob_store")


def as_owner(statement):
    with connections[OWNER].cursor() as cursor:
        cursor.execute(statement, _LAST)


@pytest.fixture(autouse=True)
def _servers_of_our_own(settings):
    settings.KEBAB_EMBEDDED_POSTGRES = False


@pytest.fixture
def missing_migration():
    """Remove the record of an app's last migration during the test."""
    as_owner("DELETE FROM django_migrations WHERE (app, name) = (%s, %s)")
    yield
    as_owner("DELETE FROM django_migrations WHERE (app, name) = (%s, %s)")
    as_owner("INSERT INTO django_migrations (app, name, applied) VALUES (%s, %s, now())")


@pytest.fixture
def unreachable(monkeypatch):
    """Point the database settings at a port where nothing listens."""
    monkeypatch.setattr(
        wait_for_migrations, "connect", lambda *_, **__: psycopg.connect("host=127.0.0.1 port=1")
    )


def test_migrated_database_needs_no_waiting(caplog):
    wait_until_migrated()
    assert "Waiting" not in caplog.text


def test_missing_migration_is_named_once_until_it_is_there(missing_migration, caplog):
    waiting = Thread(target=wait_until_migrated)
    waiting.start()
    eventually(lambda: "stack.0003_blob_store" in caplog.text, "it is named")
    as_owner("INSERT INTO django_migrations (app, name, applied) VALUES (%s, %s, now())")
    waiting.join(30)
    assert not waiting.is_alive()
    assert [record.getMessage()[:7] for record in caplog.records].count("Waiting") == 1
    assert "The database is ready" in caplog.text


def test_process_without_a_database_or_with_an_embedded_one_does_not_wait(unreachable, settings):
    wait_until_migrated(without_database=True)
    settings.KEBAB_EMBEDDED_POSTGRES = True
    wait_until_migrated()
