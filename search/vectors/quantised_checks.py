"""What `kebab doctor` says about the codes of vectors on this node: each file sound and complete."""

from collections.abc import Callable, Iterator
from pathlib import Path

import numpy as np
from django.conf import settings

from kebab.observability.health.checks import CheckResult, failed, repaired, well
from kebab.tenancy.current_workspace import acting_in
from search.models import EmbeddingSpace
from search.vectors.quantised import CodeTable
from search.vectors.quantised_file import SUFFIX, CodesDamaged, codes_of
from search.vectors.quantised_rows import Place, all_rows, rows_since
from search.vectors.spaces import live_form

_NAME = "vector codes"
_REMEDY = "Run: kebab doctor --repair"
_ALL = 2**31


def check_codes(repair: bool) -> Iterator[CheckResult]:
    """Return whether each file is what was written."""
    yield from _checked(repair, lambda space, table, place: None)


def check_all_codes(repair: bool) -> Iterator[CheckResult]:
    """Return whether besides each vector is found that PostgreSQL has."""
    yield from _checked(repair, _compare)


def _checked(
    repair: bool, compare: Callable[[EmbeddingSpace, CodeTable, Place], None]
) -> Iterator[CheckResult]:
    sound = 0
    for path in sorted(settings.KEBAB_MIRROR_DIR.glob(f"*/*{SUFFIX}")):
        space = EmbeddingSpace.objects.select_related("workspace").filter(pk=_number(path)).first()
        if space is None:  # it goes with its workspace, or when another is made
            continue
        try:
            table, place = codes_of(path)
            compare(space, table, Place(**place))
        except (CodesDamaged, OSError, ValueError, TypeError) as error:
            yield _told(path, f"{_NAME} of {space.workspace.slug}", str(error), repair=repair)
        else:
            sound += 1
    yield well(_NAME, f"{sound} files, all sound")


def _told(path: Path, name: str, detail: str, *, repair: bool) -> CheckResult:
    if not repair:
        return failed(name, detail, _REMEDY)
    path.unlink(missing_ok=True)
    return repaired(name, f"{detail}; removed, the next searches have it made anew")


def _compare(space: EmbeddingSpace, table: CodeTable, place: Place) -> None:
    """Raises CodesDamaged for a vector that neither the file has nor was written since."""
    with acting_in(space.workspace_id):
        live = live_form(space)
        since, now = rows_since(space.workspace_id, live, place, limit=_ALL)
        if not place.is_before(now):
            return  # they are not used, and made anew
        there = {*_ids(table.ids), *_ids(since.ids)}
        missing = sum(len(set(_ids(rows.ids)) - there) for rows in all_rows(space.workspace_id, live))
    if missing:
        raise CodesDamaged(f"{missing:,} of the vectors are missing")


def _ids(ids: np.ndarray) -> list[bytes]:
    return [bytes(id_) for id_ in ids]


def _number(path: Path) -> int:
    return int(path.stem) if path.stem.isdecimal() else 0
