"""Run named checks as `kebab doctor` does."""

import pytest

from kebab.contributions import contributions
from kebab.health.checks import CheckResult, run_checks
from tests.support.extensions import set_contributions


def results(check: str, *, repair: bool = False, deep: bool = False) -> list[CheckResult]:
    """Return the results of one of the checks; the others do not run, as they take long."""
    named = {each.name: each for each in contributions("checks")}
    with pytest.MonkeyPatch.context() as patched:
        set_contributions(patched, checks=(named[check],))
        return list(run_checks(repair=repair, deep=deep))


def statuses(check: str, *, repair: bool = False, deep: bool = False) -> set[str]:
    """Return the statuses of the results of a check."""
    return {result.status.value for result in results(check, repair=repair, deep=deep)}


def assert_well(*names: str, deep: bool = False) -> None:
    """Assert that checks find nothing; a failure shows their findings."""
    found = [result for name in names for result in results(name, deep=deep)]
    assert len(found) >= len(names)
    assert [f"{each.status} {each.name}: {each.detail}" for each in found if each.status != "ok"] == []


def assert_repaired(check: str, *, bad: str = "failed") -> None:
    """Assert that a check finds something, repairs it, and finds nothing any more."""
    assert bad in statuses(check)
    assert "repaired" in statuses(check, repair=True)
    assert_well(check)
