"""The registry of checks: what `kebab doctor` runs. Each app registers its own when it is ready."""

import logging
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from enum import StrEnum

logger = logging.getLogger(__name__)


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


#: Gives what it found: one result, or one for each thing it looked at. Its argument: whether it may repair.
Check = Callable[[bool], CheckResult | Iterable[CheckResult]]

_known: dict[str, Check] = {}


def register_check(name: str, check: Check) -> None:
    """Have `kebab doctor` run `check(repair)`, in the order of registration."""
    _known[name] = check


def run_checks(*, repair: bool = False) -> Iterator[CheckResult]:
    """Run all checks and give results as they come. A check that raises has failed; the others still run."""
    for name, check in list(_known.items()):
        try:
            found = check(repair)
            yield from [found] if isinstance(found, CheckResult) else found
        except Exception as error:  # a doctor must survive whatever is ill
            logger.debug("The check %s raised", name, exc_info=error)
            yield CheckResult(
                name=name, status=CheckStatus.FAILED, detail=f"{type(error).__name__}: {error}".strip()
            )
