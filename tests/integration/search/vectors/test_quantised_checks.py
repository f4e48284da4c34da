"""Checks of this node's quantised vectors by doctor."""

import pytest

from kebab.health.checks import CheckStatus
from search.vectors.quantised_checks import check_all_codes, check_codes
from search.vectors.quantised_file import read_codes, write_codes
from search.vectors.quantised_index import CodeCache
from search.vectors.quantised_scan import encode_vectors
from search.vectors.spaces import live_space
from tests.support.corpus import write
from tests.support.search import embed


@pytest.fixture
def path(workspace, mirrors):
    CodeCache(lambda workspace_id: mirrors / str(workspace_id)).build(workspace.pk, live_space(workspace))
    (path,) = mirrors.glob("*/*.codes")
    return path


def statuses(check, *, repair=False):
    return [result.status for result in check(repair)]


def test_whole_file_passes(path, workspace):
    write(workspace, "new.md", "written since")
    embed(workspace)
    assert statuses(check_codes) == statuses(check_all_codes) == [CheckStatus.OK]


def test_damaged_file_is_reported_and_removed(path):
    path.write_bytes(path.read_bytes()[:-1])
    assert statuses(check_codes) == [CheckStatus.FAILED, CheckStatus.OK]
    assert path.exists()
    assert statuses(check_codes, repair=True) == [CheckStatus.REPAIRED, CheckStatus.OK]
    assert not path.exists()
    assert statuses(check_codes) == [CheckStatus.OK]


def test_file_that_lacks_a_vector_is_reported_and_removed(path):
    table, place = read_codes(path)
    write_codes(path, [encode_vectors(table.ids[:-1], table.vectors[:-1])], place)
    assert statuses(check_codes) == [CheckStatus.OK]
    assert statuses(check_all_codes) == [CheckStatus.FAILED, CheckStatus.OK]
    assert statuses(check_all_codes, repair=True) == [CheckStatus.REPAIRED, CheckStatus.OK]
    assert not path.exists()


def test_doctor_ignores_code_files_of_deleted_spaces(path):
    path.rename(path.with_name("999999999.codes"))
    assert statuses(check_all_codes) == [CheckStatus.OK]
