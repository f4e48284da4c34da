"""What probes and operators are told."""

import errno
import io
import json
import os
import re
from contextlib import nullcontext
from functools import partial
from pathlib import Path

import pytest
from django.core.management import call_command
from django.db import OperationalError

from kebab import draining
from kebab.cli import verb
from kebab.health import checks, migrations, replies, server_checks, stores, versions, views
from kebab.health.checks import CheckResult, CheckStatus, register_check, run_checks


@pytest.fixture
def no_redis(settings, tmp_path):
    settings.REDIS_URL = f"redis+socket://{tmp_path}/none.sock?virtual_host=0"


SERVER_CHECKS = {
    "postgres": server_checks.check_postgres,
    "redis": server_checks.check_redis,
    "migrations": server_checks.check_migrations,
    "sqlite": server_checks.check_sqlite,
}


@pytest.fixture
def only(monkeypatch):
    """Checks of our own, and no others."""
    monkeypatch.setattr(checks, "_known", {})
    monkeypatch.setattr(verb, "borrowed_stack", lambda *_, **__: nullcontext())
    return register_check


def doctor(*arguments):
    out = io.StringIO()
    try:
        call_command("doctor", *arguments, stdout=out)
    except SystemExit as end:
        return end.code, out.getvalue()
    return 0, out.getvalue()


def result(status, **fields):
    return CheckResult(name="thing", status=status, detail="seen", **fields)


@pytest.fixture(autouse=True)
def _looked_at_anew(monkeypatch):
    """What was found for another test holds for half a second; a look may take as long as it does."""
    stores._watches.cache_clear()
    monkeypatch.setattr(replies, "look_at_all", partial(stores.look_at_all, 30.0))


def test_a_process_that_answers_is_healthy_without_any_server(client):
    assert client.get("/healthz").json() == {"status": "ok"}


def test_it_is_ready_when_the_servers_answer_and_the_tables_are_there(client, db, mirrors):
    checks = dict.fromkeys(("postgres", "migrations", "redis", "mirrors"), "ok")
    assert client.get("/readyz").json() == {"status": "ready", "checks": checks}


def test_without_redis_it_is_degraded_and_ready_as_searches_go_on(client, db, no_redis):
    response = client.get("/readyz")

    assert (response.status_code, response.json()["status"]) == (200, "degraded")
    assert response.json()["checks"]["redis"] == "degraded"


def test_without_postgres_it_is_not_ready_and_the_version_is_told_all_the_same(client, settings, monkeypatch):
    elsewhere = {**settings.DATABASES["default"], "HOST": "/secret/path"}
    monkeypatch.setitem(settings.DATABASES, "default", elsewhere)

    def down():
        raise OperationalError("connection refused: /secret/path")

    for name in ("postgres_version", "pgvector_version"):
        monkeypatch.setattr(views, name, down)
    response = client.get("/readyz")

    assert (response.status_code, response.json()["code"]) == (503, "not_ready")
    assert response.json()["detail"] == "Not ready: postgres, migrations."
    assert response.json()["checks"]["postgres"] == "failed"
    assert int(response.headers["Retry-After"]) > 0
    assert "secret" not in response.content.decode()
    assert client.get("/version").json()["postgres"] is None


def test_with_a_migration_missing_it_is_not_ready(client, db, monkeypatch):
    expected = migrations.expected_migrations() | {("people", "9999_of_a_later_version")}
    monkeypatch.setattr(migrations, "expected_migrations", lambda: expected)
    response = client.get("/readyz")

    assert response.status_code == 503
    assert response.json()["checks"] | {"migrations": "failed"} == response.json()["checks"]
    assert response.json()["checks"]["postgres"] == "ok"


@pytest.mark.parametrize(("error", "said"), [(errno.EROFS, 503), (errno.ENOSPC, 200)])
def test_where_mirrors_cannot_be_written_it_is_not_ready_but_with_a_full_disk_they_are_searched(
    client, db, mirrors, monkeypatch, error, said
):
    def refuse(path, content):
        raise OSError(error, "no")

    monkeypatch.setattr(Path, "write_bytes", refuse)
    assert client.get("/readyz").status_code == said


def test_who_drains_is_not_ready(client, db, monkeypatch):
    monkeypatch.setattr(draining, "is_draining", lambda: True)
    response = client.get("/readyz")

    assert (response.status_code, response.json()["checks"]["draining"]) == (503, "failed")


def test_versions_are_told(client, db):
    body = client.get("/version").json()

    assert set(body) == {"version", "python", "sqlite", "postgres", "pgvector"}
    assert versions.parse_version(body["sqlite"]) >= server_checks.MIN_SQLITE
    assert versions.parse_version(body["postgres"]) >= server_checks.MIN_POSTGRES


def test_requests_are_counted_by_route_and_not_by_address(client, db):
    client.get("/api/v1/workspaces/secret-name/notes")
    text = client.get("/metrics").content.decode()

    assert 'route="api/v1/workspaces/<str:ws>/notes",status="401"' in text
    assert "kebab_http_request_seconds_bucket" in text
    assert re.search(rf'process_cpu_seconds_total\{{role="\w+",pid="{os.getpid()}"\}}', text)
    assert "secret-name" not in text


def test_the_servers_of_these_tests_are_well(db):
    found = {name: check() for name, check in SERVER_CHECKS.items()}

    assert {name: result.status for name, result in found.items()} == dict.fromkeys(found, CheckStatus.OK)


def test_a_version_below_the_least_has_failed_with_a_remedy(monkeypatch):
    monkeypatch.setattr(server_checks, "sqlite_version", lambda: (3, 40, 1))
    found = server_checks.check_sqlite()

    assert (found.status, found.detail) == (CheckStatus.FAILED, "is 3.40.1")
    assert "3.53.2" in found.remedy


@pytest.mark.parametrize(
    ("text", "version"), [("0.8.5", (0, 8, 5)), ("18.1 (Debian 18.1-1)", (18, 1)), ("devel", ())]
)
def test_versions_are_read_as_numbers(text, version):
    assert versions.parse_version(text) == version


def test_a_check_that_raises_has_failed_and_the_others_still_run(only):
    only("bad", lambda repair: 1 / 0)
    only("good", lambda repair: [result(CheckStatus.OK), result(CheckStatus.WARNING)])

    assert [found.status for found in run_checks()] == ["failed", "ok", "warning"]


@pytest.mark.parametrize(
    ("status", "code"),
    [(CheckStatus.OK, 0), (CheckStatus.WARNING, 0), (CheckStatus.REPAIRED, 0), (CheckStatus.FAILED, 3)],
)
def test_doctor_ends_with_3_when_a_check_failed(only, status, code):
    only("thing", lambda repair: result(status, remedy="Mend it."))
    found, out = doctor("--json")

    assert found == code
    document = json.loads(out)
    assert document["healthy"] is (code == 0)
    assert document["checks"] == [
        {"name": "thing", "status": status.value, "detail": "seen", "remedy": "Mend it."}
    ]
    assert "Mend it." in doctor()[1]


def test_only_doctor_with_repair_lets_checks_repair(only):
    asked = []

    def check(repair):
        asked.append(repair)
        return result(CheckStatus.OK)

    only("thing", check)
    doctor()
    doctor("--repair")

    assert asked == [False, True]
