"""The registry of checks: what `kebab doctor` runs. Each app registers its own when it is ready."""

import logging
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from enum import StrEnum

from django.utils.module_loading import import_string

logger = logging.getLogger(__name__)

#: So many results of one check are told one by one while all is well: nobody reads 10,000 of them.
TOLD = 100


class CheckStatus(StrEnum):
    """How a check came out; only `failed` makes the whole unhealthy."""

    OK = "ok"
    WARNING = "warning"
    FAILED = "failed"
    REPAIRED = "repaired"


@dataclass(frozen=True, slots=True, kw_only=True)
class CheckResult:
    """What one check found."""

    name: str
    status: CheckStatus
    #: What was seen, with the values.
    detail: str
    #: What to do about it; empty if there is nothing to do.
    remedy: str = ""


def well(name: str, detail: str) -> CheckResult:
    """Return the result of a thing that is as it should be."""
    return CheckResult(name=name, status=CheckStatus.OK, detail=detail)


def warning(name: str, detail: str, remedy: str) -> CheckResult:
    """Return the result of a thing that is to be looked at, though Kebab goes on."""
    return CheckResult(name=name, status=CheckStatus.WARNING, detail=detail, remedy=remedy)


def failed(name: str, detail: str, remedy: str) -> CheckResult:
    """Return the result of a thing that is broken."""
    return CheckResult(name=name, status=CheckStatus.FAILED, detail=detail, remedy=remedy)


def repaired(name: str, detail: str) -> CheckResult:
    """Return the result of a thing that was broken until now."""
    return CheckResult(name=name, status=CheckStatus.REPAIRED, detail=detail)


#: Gives what it found: one result, or one for each thing it looked at. Its argument: whether it may repair.
Check = Callable[[bool], CheckResult | Iterable[CheckResult]]

# Each with the one that is run in its place with --deep.
_known: dict[str, tuple[Check, Check]] = {}


def register_check(name: str, check: Check, *, thorough: Check | None = None) -> None:
    """Have `kebab doctor` run `check(repair)`, in this order of registration; with --deep `thorough`."""
    _known[name] = (check, check if thorough is None else thorough)


def imported(path: str) -> Check:
    """Return the check with this dotted path, imported when it is run: no start has to wait for it."""
    return lambda repair: import_string(path)(repair)


def run_checks(
    *,
    repair: bool = False,
    deep: bool = False,
    on_look: Callable[[str, int], None] = lambda name, looked_at: None,
) -> Iterator[CheckResult]:
    """Run all checks and give results as they come.

    `on_look` is told the check's name and how many things it has looked at, first and after each.

    A check that raises has failed; the others still run. Of results that are well the first hundred of each
    check are given, and a last one counts the others.
    """
    for name, (check, thorough) in list(_known.items()):
        results = _results(name, thorough if deep else check, repair)
        yield from _told(name, _counted(name, results, on_look))


def _results(name: str, check: Check, repair: bool) -> Iterator[CheckResult]:
    try:
        found = check(repair)
        yield from [found] if isinstance(found, CheckResult) else found
    except Exception as error:  # a doctor must survive whatever is ill
        logger.debug("The check %s raised", name, exc_info=error)
        yield failed(name, f"{type(error).__name__}: {error}".strip(), "")


def _counted(
    name: str, results: Iterator[CheckResult], on_look: Callable[[str, int], None]
) -> Iterator[CheckResult]:
    on_look(name, 0)
    for looked_at, result in enumerate(results, start=1):
        on_look(name, looked_at)
        yield result


def _told(name: str, results: Iterator[CheckResult]) -> Iterator[CheckResult]:
    n_well = 0
    for result in results:
        n_well += result.status is CheckStatus.OK
        if result.status is not CheckStatus.OK or n_well <= TOLD:
            yield result
    if n_well > TOLD:
        yield well(name, f"{n_well - TOLD:,} more are well")
