import errno
import os
import re
from functools import partial
from pathlib import Path

import pytest
from django.core.files.storage import default_storage
from django.db import OperationalError

from kebab.health import pending_migrations, responses, scrape, server_checks, views
from kebab.health.scrape import scraper
from kebab.runtime import draining
from kebab.stack.servers import versions
from kebab.stack.storage.blob_mark import MARK_NAME, check_blob_store


@pytest.fixture(autouse=True)
def _fresh_answers(monkeypatch):
    """Clear the cached answers about stores and counts, which hold for a second."""
    scrape._probes.cache_clear()
    scraper.cache_clear()
    monkeypatch.setattr(responses, "probe_stores", partial(scrape.probe_stores, 30.0))


def test_process_that_answers_is_healthy_without_any_server(client):
    assert client.get("/healthz").json() == {"status": "ok"}


def test_process_is_ready_with_servers_and_tables(client, db, mirrors):
    checks = dict.fromkeys(("postgres", "migrations", "redis", "mirrors", "blobs"), "ok")
    assert client.get("/readyz").json() == {"status": "ready", "checks": checks}


def test_process_without_redis_is_degraded_and_ready(client, db, settings, tmp_path):
    settings.REDIS_URL = f"redis+socket://{tmp_path}/none.sock?virtual_host=0"
    response = client.get("/readyz")
    assert (response.status_code, response.json()["status"]) == (200, "degraded")
    assert response.json()["checks"]["redis"] == "degraded"


def test_process_without_postgres_is_not_ready_and_tells_its_version(client, settings, monkeypatch):
    elsewhere = {**settings.DATABASES["default"], "HOST": "/secret/path"}
    monkeypatch.setitem(settings.DATABASES, "default", elsewhere)

    def down():
        raise OperationalError("connection refused: /secret/path")

    for name in ("postgres_version", "pgvector_version"):
        monkeypatch.setattr(views, name, down)
    response = client.get("/readyz")
    assert (response.status_code, response.json()["code"]) == (503, "not_ready")
    checks = response.json()["checks"]
    assert {name for name, status in checks.items() if status == "failed"} == {"postgres", "migrations"}
    assert int(response.headers["Retry-After"]) > 0
    assert "secret" not in response.content.decode()
    assert client.get("/version").json()["postgres"] is None


def test_process_with_a_missing_migration_is_not_ready(client, db, monkeypatch):
    expected = pending_migrations.expected_migrations() | {("people", "9999_of_a_later_version")}
    monkeypatch.setattr(pending_migrations, "expected_migrations", lambda: expected)
    response = client.get("/readyz")
    checks = response.json()["checks"]
    assert (response.status_code, checks["migrations"], checks["postgres"]) == (503, "failed", "ok")


@pytest.mark.django_db(transaction=True)
def test_process_whose_blobs_lack_the_mark_is_not_ready(client, blobs, settings):
    settings.KEBAB_EMBEDDED_POSTGRES = False
    check_blob_store(adopt=False)
    assert client.get("/readyz").json()["checks"]["blobs"] == "ok"

    default_storage.delete(MARK_NAME)  # as in a folder of its own, or one that isn't mounted
    scrape._probes.cache_clear()
    response = client.get("/readyz")
    assert (response.status_code, response.json()["checks"]["blobs"]) == (503, "failed")


@pytest.mark.parametrize(("error", "status"), [(errno.EROFS, 503), (errno.ENOSPC, 200)])
def test_process_with_read_only_mirrors_is_not_ready_and_with_a_full_disk_it_is(
    client, db, mirrors, monkeypatch, error, status
):
    def refuse(path, content):
        raise OSError(error, "no")

    monkeypatch.setattr(Path, "write_bytes", refuse)
    assert client.get("/readyz").status_code == status


def test_draining_process_is_not_ready(client, db, monkeypatch):
    monkeypatch.setattr(draining, "is_draining", lambda: True)
    response = client.get("/readyz")
    assert (response.status_code, response.json()["checks"]["draining"]) == (503, "failed")


def test_version_names_the_versions_of_all_parts(client, db):
    body = client.get("/version").json()
    assert set(body) == {"version", "python", "sqlite", "postgres", "pgvector"}
    assert versions.parse_version(body["sqlite"]) >= server_checks.MIN_SQLITE
    assert versions.parse_version(body["postgres"]) >= (server_checks.MIN_POSTGRES,)
    for text, version in [("0.8.5", (0, 8, 5)), ("18.1 (Debian 18.1-1)", (18, 1)), ("devel", ())]:
        assert versions.parse_version(text) == version


@pytest.mark.parametrize(
    ("asked", "is_open", "may_read"),
    [
        ({}, False, True),
        ({"REMOTE_ADDR": "::1"}, False, True),
        ({"REMOTE_ADDR": "192.0.2.7"}, False, False),
        ({"REMOTE_ADDR": "192.0.2.7"}, True, True),
        ({"REMOTE_ADDR": "192.0.2.7", "HTTP_AUTHORIZATION": "Bearer operators"}, False, True),
        ({"HTTP_X_FORWARDED_FOR": "127.0.0.1"}, False, False),
    ],
)
def test_metrics_and_versions_are_shown_to_this_machine_and_the_operator(
    client, db, settings, asked, is_open, may_read
):
    settings.KEBAB_METRICS_TOKEN, settings.KEBAB_METRICS_OPEN = "operators", is_open
    assert client.get("/metrics", **asked).status_code == (200 if may_read else 401)
    assert ("postgres" in client.get("/version", **asked).json()) is may_read


def test_requests_are_counted_by_route_and_not_by_address(client, db, settings):
    settings.ROOT_URLCONF = "tests.support.urlconf"
    client.get("/api/v1/workspaces/secret-name/notes")
    text = client.get("/metrics").content.decode()
    assert 'route="api/v1/workspaces/<str:ws>/notes",status="401"' in text
    assert "kebab_http_request_seconds_bucket" in text
    assert re.search(rf'process_cpu_seconds_total\{{role="\w+",pid="{os.getpid()}"\}}', text)
    assert "secret-name" not in text
