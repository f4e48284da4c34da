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


def assert_mended(check: str, *, bad: str = "failed") -> None:
    """See a check find something, mend it, and find nothing any more."""
    assert bad in statuses(check)
    assert "repaired" in statuses(check, repair=True)
    assert statuses(check) == {"ok"}
