"""The registry of the checks that `kebab doctor` runs. Each app registers its own when it is ready."""

import logging
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from enum import StrEnum

from django.utils.module_loading import import_string

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

# By name: the check, and the one that --deep runs instead.
_checks: dict[str, tuple[Check, Check]] = {}


def register_check(name: str, check: Check, *, thorough: Check | None = None) -> None:
    """Register `check(repair)` for `kebab doctor`, in this order; with --deep it runs `thorough` instead."""
    _checks[name] = (check, check if thorough is None else thorough)


def lazy_check(path: str) -> Check:
    """Return the check with this dotted path, imported only when it runs, to keep start-up fast."""
    return lambda repair: import_string(path)(repair)


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
    for name, (check, thorough) in list(_checks.items()):
        results = _run_check(name, thorough if deep else check, repair)
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
