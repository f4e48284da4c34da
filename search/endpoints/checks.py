"""Reports of wrong endpoint settings to Django's system checks and to `kebab doctor`."""

from collections.abc import Sequence

from django.core import checks

from kebab.health.checks import CheckResult, CheckStatus
from search.endpoints.configured_endpoint import SettingProblem


def problem_errors(problems: Sequence[SettingProblem], error_id: str) -> list[checks.CheckMessage]:
    """Return an error for each problem."""
    return [checks.Error(each.message, hint=each.remedy, obj=each.setting, id=error_id) for each in problems]


def problem_result(name: str, problems: Sequence[SettingProblem]) -> CheckResult:
    """Return the failure of the check `name` that reports all problems."""
    return CheckResult(
        name=name,
        status=CheckStatus.FAILED,
        detail="; ".join(each.message for each in problems),
        remedy=" ".join(each.remedy for each in problems),
    )
