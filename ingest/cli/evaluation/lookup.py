"""Look-up of runs on the command line: by id, by its first digits, or by name."""

from kebab.cli.errors import CliError
from kebab.exit_codes import Exit
from kebab.identity.caller import Access
from kebab.uuids import parse_uuid
from search.evaluation.runs import visible_runs
from search.models import Run

#: Digits of an id in tables.
SHOWN_DIGITS = 8
_LEAST_DIGITS = 4


def find_run(access: Access, text: str) -> Run:
    """Return the run with the id or name `text`, the latest of several with one name. Raises CliError."""
    runs = visible_runs(access).order_by("-created_at", "id")
    whole = parse_uuid(text)
    if whole is not None:
        found = list(runs.filter(pk=whole))
    else:
        found = list(runs.filter(name=text)[:1]) or _beginning_with(access, text)
    if len(found) == 1:
        return found[0]
    problem = "There are several runs" if found else "There is no run"
    raise CliError(
        f"{problem} {text[:100]!r} in {access.workspace.slug}; see: kebab eval runs",
        code="ambiguous" if found else "not_found",
        exit_code=Exit.ERROR if found else Exit.NOTHING,
    )


def _beginning_with(access: Access, text: str) -> list[Run]:
    digits = text.replace("-", "").lower()
    if len(digits) < _LEAST_DIGITS:
        return []
    ids = [pk for pk in visible_runs(access).values_list("pk", flat=True) if pk.hex.startswith(digits)]
    return list(visible_runs(access).filter(pk__in=ids))


def shown_id(run: Run) -> str:
    """Return the first digits of a run's id, as tables show it."""
    return run.pk.hex[:SHOWN_DIGITS]
