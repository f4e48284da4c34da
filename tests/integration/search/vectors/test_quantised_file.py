"""A file of quantised vectors is read as written, or not at all."""

import numpy as np
import pytest

from search.vectors.quantised_file import delete_drafts, read_codes, write_codes
from search.vectors.quantised_scan import BATCH, encode_vectors
from tests.integration.search.mirror.inspection import age
from tests.integration.search.vectors.comparison import assert_equal_tables
from tests.integration.search.vectors.factories import ids_of, random_vectors

PLACE = {"started": "2026-01-01 00:00:00+00", "table": "16400", "snapshot": "5:5:"}


@pytest.fixture
def path(tmp_path):
    path = tmp_path / "of-a-workspace" / "7.codes"
    write_codes(path, [encode_vectors(ids_of(5_000), random_vectors(5_000))], PLACE)
    return path


def test_file_is_read_as_written(path):
    table, place = read_codes(path)
    assert place == PLACE
    assert_equal_tables(table, encode_vectors(ids_of(5_000), random_vectors(5_000)))


def test_pieces_written_to_a_code_file_are_read_as_one_table(path):
    vectors, ids = random_vectors(3 * BATCH + 5, dim=8), ids_of(3 * BATCH + 5)
    starts = range(0, len(vectors), 2 * BATCH)
    pieces = [encode_vectors(ids[s : s + 2 * BATCH], vectors[s : s + 2 * BATCH]) for s in starts]
    write_codes(path, pieces, PLACE)
    assert_equal_tables(read_codes(path)[0], encode_vectors(ids, vectors))


def test_file_is_private_to_its_owner_without_leftovers(path):
    assert path.stat().st_mode & 0o777 == 0o600
    assert path.parent.stat().st_mode & 0o777 == 0o700
    assert list(path.parent.iterdir()) == [path]


def test_mapped_former_file_stays_readable(path):
    table, _ = read_codes(path)
    before = np.array(table.scales)
    write_codes(path, [encode_vectors(ids_of(10), random_vectors(10, seed=8))], PLACE)
    assert (table.scales == before).all()
    assert len(read_codes(path)[0]) == 10


def test_missing_code_file_is_read_as_none(tmp_path):
    assert read_codes(tmp_path / "none.codes") is None


DAMAGE = {
    "cut short": lambda whole: whole[:-64],
    "longer": lambda whole: whole + bytes(64),
    "another number": lambda whole: whole[:-4000] + bytes([whole[-4000] ^ 1]) + whole[-3999:],
    "no head": lambda whole: whole[:20],
    "another beginning": lambda whole: b"x" + whole[1:],
    "an earlier format": lambda whole: whole.replace(b"kebab codes 4", b"kebab codes 2", 1),
    "head without a field": lambda whole: whole.replace(b'"vectors"', b'"vektors"', 1),
    "another place": lambda whole: whole.replace(b"5:5:", b"9:9:", 1),
    "empty": lambda whole: b"",
}


def test_damaged_code_file_is_removed_and_read_as_none(path, subtests):
    whole = path.read_bytes()
    for name, damage in DAMAGE.items():
        with subtests.test(name):
            path.write_bytes(damage(whole))
            assert read_codes(path) is None
            assert not path.exists()


def test_old_drafts_of_code_files_are_deleted_and_recent_ones_kept(path):
    fresh, old = path.with_name("7-a.part"), path.with_name("7-b.part")
    for draft in (fresh, old):
        draft.write_bytes(b"half")
    age(old, hours=2)
    delete_drafts(path.parent)
    assert sorted(path.parent.iterdir()) == [fresh, path]
