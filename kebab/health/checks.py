"""The checks that `kebab doctor` runs, which apps name in their extensions."""

import logging
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from enum import StrEnum

from kebab.contributions import contributions

logger = logging.getLogger(__name__)

#: The most `ok` results of one check that are listed; the rest is summed up.
MAX_OK_RESULTS = 100


class CheckStatus(StrEnum):
    """The status of a check; only `failed` makes the whole unhealthy."""

    OK = "ok"
    WARNING = "warning"
    FAILED = "failed"
    REPAIRED = "repaired"


@dataclass(frozen=True, slots=True, kw_only=True)
class CheckResult:
    """One result of a check."""

    name: str
    status: CheckStatus
    #: The finding, with its values.
    detail: str
    #: The remedy; empty if there is nothing to do.
    remedy: str = ""


def ok_result(name: str, detail: str) -> CheckResult:
    """Return a result with the status `ok`."""
    return CheckResult(name=name, status=CheckStatus.OK, detail=detail)


def warning_result(name: str, detail: str, remedy: str) -> CheckResult:
    """Return a result with the status `warning`: it needs attention, though Kebab works."""
    return CheckResult(name=name, status=CheckStatus.WARNING, detail=detail, remedy=remedy)


def failed_result(name: str, detail: str, remedy: str) -> CheckResult:
    """Return a result with the status `failed`."""
    return CheckResult(name=name, status=CheckStatus.FAILED, detail=detail, remedy=remedy)


def repaired_result(name: str, detail: str) -> CheckResult:
    """Return a result with the status `repaired`: it was broken until now."""
    return CheckResult(name=name, status=CheckStatus.REPAIRED, detail=detail)


#: Returns one result, or one for each thing checked. Its argument tells whether it may repair.
Check = Callable[[bool], CheckResult | Iterable[CheckResult]]


@dataclass(frozen=True, slots=True, kw_only=True)
class DoctorCheck:
    """A named check of `kebab doctor`. A later app's check replaces an earlier one of the same name."""

    name: str
    check: Check
    #: The check that runs instead with --deep.
    thorough: Check | None = None


def run_checks(
    *,
    repair: bool = False,
    deep: bool = False,
    on_progress: Callable[[str, int], None] = lambda name, n_checked: None,
) -> Iterator[CheckResult]:
    """Run all checks and yield results as they come.

    `on_progress` gets the check's name and the count of its results so far, first and after each.

    A check that raises has failed; the others still run. Of `ok` results the first hundred of each check are
    yielded, and a last one counts the others.
    """
    checks = {each.name: each for each in contributions("checks")}
    for name, each in checks.items():
        check = each.thorough if deep and each.thorough is not None else each.check
        results = _run_check(name, check, repair)
        yield from _limit_ok_results(name, _report_progress(name, results, on_progress))


def _run_check(name: str, check: Check, repair: bool) -> Iterator[CheckResult]:
    try:
        found = check(repair)
        yield from [found] if isinstance(found, CheckResult) else found
    except Exception as error:  # `kebab doctor` must survive any failing check
        logger.debug("The check %s raised", name, exc_info=error)
        yield failed_result(name, f"{type(error).__name__}: {error}".strip(), "")


def _report_progress(
    name: str, results: Iterator[CheckResult], on_progress: Callable[[str, int], None]
) -> Iterator[CheckResult]:
    on_progress(name, 0)
    for n_checked, result in enumerate(results, start=1):
        on_progress(name, n_checked)
        yield result


def _limit_ok_results(name: str, results: Iterator[CheckResult]) -> Iterator[CheckResult]:
    n_well = 0
    for result in results:
        n_well += result.status is CheckStatus.OK
        if result.status is not CheckStatus.OK or n_well <= MAX_OK_RESULTS:
            yield result
    if n_well > MAX_OK_RESULTS:
        yield ok_result(name, f"{n_well - MAX_OK_RESULTS:,} more are well")
