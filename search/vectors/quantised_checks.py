"""The `kebab doctor` check of quantised vectors on this node: each file valid and complete."""

from collections.abc import Callable, Iterator
from pathlib import Path

import numpy as np
from django.conf import settings

from kebab.health.checks import CheckResult, failed_result, ok_result, repaired_result
from kebab.tenancy.current_workspace import acting_in
from search.models import EmbeddingSpace
from search.vectors.quantised_file import SUFFIX, CodesDamaged, load_codes
from search.vectors.quantised_rows import SnapshotPosition, read_all_rows, read_rows_since
from search.vectors.quantised_scan import CodeTable
from search.vectors.spaces import to_live_space

_NAME = "vector codes"
_REMEDY = "Run: kebab doctor --repair"
_ALL = 2**31


def check_codes(repair: bool) -> Iterator[CheckResult]:
    """Check the checksum of each file."""
    yield from _check_files(repair, lambda space, table, place: None)


def check_all_codes(repair: bool) -> Iterator[CheckResult]:
    """Check the checksum of each file, and that it has all vectors of PostgreSQL."""
    yield from _check_files(repair, _compare)


def _check_files(
    repair: bool, compare: Callable[[EmbeddingSpace, CodeTable, SnapshotPosition], None]
) -> Iterator[CheckResult]:
    sound = 0
    for path in sorted(settings.KEBAB_MIRROR_DIR.glob(f"*/*{SUFFIX}")):
        space = EmbeddingSpace.objects.select_related("workspace").filter(pk=_number(path)).first()
        if space is None:  # the file is deleted with its workspace, or by the next build of another space
            continue
        try:
            table, place = load_codes(path)
            compare(space, table, SnapshotPosition(**place))
        except (CodesDamaged, OSError, ValueError, TypeError) as error:
            yield _report_damage(path, f"{_NAME} of {space.workspace.slug}", str(error), repair=repair)
        else:
            sound += 1
    yield ok_result(_NAME, f"{sound} files, all sound")


def _report_damage(path: Path, name: str, detail: str, *, repair: bool) -> CheckResult:
    if not repair:
        return failed_result(name, detail, _REMEDY)
    path.unlink(missing_ok=True)
    return repaired_result(name, f"{detail}; removed, the next searches have it made anew")


def _compare(space: EmbeddingSpace, table: CodeTable, place: SnapshotPosition) -> None:
    """Raise CodesDamaged for a vector that is neither in the file nor was written since."""
    with acting_in(space.workspace_id):
        live = to_live_space(space)
        since, now = read_rows_since(space.workspace_id, live, place, limit=_ALL)
        if not place.is_before(now):
            return  # of another database state: unused, and rebuilt by the next search
        present = np.concatenate([table.ids, since.ids])
        missing = sum(
            np.count_nonzero(~np.isin(rows.ids, present)) for rows in read_all_rows(space.workspace_id, live)
        )
    if missing:
        raise CodesDamaged(f"{missing:,} of the vectors are missing")


def _number(path: Path) -> int:
    return int(path.stem) if path.stem.isdecimal() else 0
