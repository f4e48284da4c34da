"""Runs checks as `kebab doctor` does, by their names."""

from kebab.health.checks import CheckResult, run_checks


def results(check: str, *, repair: bool = False, deep: bool = False) -> list[CheckResult]:
    """Give what one of the registered checks finds."""
    begun: list[str] = []
    found = run_checks(repair=repair, deep=deep, on_look=lambda name, _: begun.append(name))
    return [result for result in found if begun[-1] == check]


def statuses(check: str, *, repair: bool = False, deep: bool = False) -> set[str]:
    """Give how the results of a check came out."""
    return {result.status.value for result in results(check, repair=repair, deep=deep)}


def assert_well(*checks: str, deep: bool = False) -> None:
    """See that checks find nothing; what they find is told with its reasons."""
    found = [result for check in checks for result in results(check, deep=deep)]
    assert len(found) >= len(checks)
    assert [f"{each.status} {each.name}: {each.detail}" for each in found if each.status != "ok"] == []


def assert_mended(check: str, *, bad: str = "failed") -> None:
    """See a check find something, mend it, and find nothing any more."""
    assert bad in statuses(check)
    assert "repaired" in statuses(check, repair=True)
    assert_well(check)
