import json

import pytest

from kebab.health import server_checks
from kebab.health.checks import (
    MAX_OK_RESULTS,
    CheckResult,
    CheckStatus,
    DoctorCheck,
    ok_result,
    run_checks,
)
from tests.cli.commands import run
from tests.support.extensions import set_contributions


@pytest.fixture
def only(monkeypatch):
    """Return a function that adds checks; there are no others."""
    added = []

    def add(name, check, **options):
        added.append(DoctorCheck(name=name, check=check, **options))
        set_contributions(monkeypatch, checks=tuple(added))

    return add


def result(status, **fields):
    return CheckResult(name="thing", status=status, detail="seen", **fields)


def test_server_checks_pass_on_healthy_servers(db):
    for name in ("postgres", "pgvector", "redis", "migrations", "sqlite"):
        assert getattr(server_checks, f"check_{name}")().status == CheckStatus.OK, name


def test_version_below_the_least_has_failed_with_a_remedy(monkeypatch):
    monkeypatch.setattr(server_checks, "sqlite_version", lambda: (3, 40, 1))
    found = server_checks.check_sqlite()
    assert found.status == CheckStatus.FAILED
    assert "3.40.1" in found.detail
    assert "3.53.2" in found.remedy


def test_check_that_raises_has_failed_and_the_others_still_run(only):
    only("bad", lambda repair: 1 / 0)
    only("good", lambda repair: [result(CheckStatus.OK), result(CheckStatus.WARNING)])
    assert [found.status for found in run_checks()] == ["failed", "ok", "warning"]


def test_at_most_a_hundred_good_results_are_listed(only):
    only("many", lambda repair: [ok_result(f"one {n}", "is well") for n in range(10_000)])
    found = list(run_checks())
    assert len(found) == MAX_OK_RESULTS + 1
    assert "9,900" in found[-1].detail


def test_deep_runs_the_thorough_check(only):
    only("one", lambda repair: ok_result("one", "quick"), thorough=lambda repair: ok_result("one", "deep"))
    assert [next(run_checks(deep=deep)).detail for deep in (False, True)] == ["quick", "deep"]


def test_doctor_ends_with_3_when_a_check_failed(only, subtests):
    for status in CheckStatus:
        with subtests.test(status=status):
            only("thing", lambda repair, status=status: result(status, remedy="Mend it."))
            code, out, _ = run("doctor", "--json")
            assert code == (3 if status == CheckStatus.FAILED else 0)
            document = json.loads(out)
            assert (document["schema_version"], document["healthy"]) == ("doctor.v1", code == 0)
            assert document["checks"] == [
                {"name": "thing", "status": status.value, "detail": "seen", "remedy": "Mend it."}
            ]
            assert "Mend it." in run("doctor")[1]


def test_checks_repair_only_for_doctor_with_repair(only):
    asked = []

    def check(repair):
        asked.append(repair)
        return result(CheckStatus.OK)

    only("thing", check)
    run("doctor")
    run("doctor", "--repair")
    assert asked == [False, True]
