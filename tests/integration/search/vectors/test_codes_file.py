"""A file of codes is read as it was written, or not at all."""

import os
import time

import numpy as np
import pytest

from search.vectors.codes import code_table
from search.vectors.codes_file import read_codes, remove_drafts, write_codes
from tests.integration.search.vectors.test_codes import ids_of, random_vectors

PLACE = {"started": "2026-01-01 00:00:00+00", "table": "16400", "snapshot": "5:5:"}


@pytest.fixture
def path(tmp_path):
    path = tmp_path / "of-a-workspace" / "7.codes"
    write_codes(path, code_table(ids_of(5_000), random_vectors(5_000)), PLACE)
    return path


def test_it_is_read_as_it_was_written(path):
    wanted = code_table(ids_of(5_000), random_vectors(5_000))
    table, place = read_codes(path)
    assert place == PLACE
    assert table.residual == wanted.residual
    for name in ("ids", "scales", "sums", "blocks"):
        assert (getattr(table, name) == getattr(wanted, name)).all()


def test_it_is_its_owners_alone_and_nothing_lies_beside_it(path):
    assert path.stat().st_mode & 0o777 == 0o600
    assert path.parent.stat().st_mode & 0o777 == 0o700
    assert list(path.parent.iterdir()) == [path]


def test_who_has_mapped_the_former_one_keeps_it(path):
    table, _ = read_codes(path)
    before = np.array(table.scales)
    write_codes(path, code_table(ids_of(10), random_vectors(10, seed=8)), PLACE)
    assert (table.scales == before).all()
    assert len(read_codes(path)[0]) == 10


def test_where_there_is_none_nothing_is_read(tmp_path):
    assert read_codes(tmp_path / "none.codes") is None


def cut_short(whole):
    return whole[:-64]


def longer(whole):
    return whole + bytes(64)


def with_another_number(whole):
    return whole[:-4000] + bytes([whole[-4000] ^ 1]) + whole[-3999:]


def without_a_head(whole):
    return whole[:20]


def with_another_beginning(whole):
    return b"x" + whole[1:]


def with_a_head_that_says_nothing(whole):
    return whole.replace(b'"vectors"', b'"vektors"', 1)


def with_another_place(whole):
    return whole.replace(b"5:5:", b"9:9:", 1)


def empty(whole):
    return b""


@pytest.mark.parametrize(
    "damage",
    [
        cut_short,
        longer,
        with_another_number,
        without_a_head,
        with_another_beginning,
        with_a_head_that_says_nothing,
        with_another_place,
        empty,
    ],
)
def test_a_damaged_one_is_none_and_goes(path, damage):
    path.write_bytes(damage(path.read_bytes()))
    assert read_codes(path) is None
    assert not path.exists()


def test_what_a_killed_process_has_begun_goes_and_what_is_being_written_stays(path):
    fresh, old = path.with_name("7-a.part"), path.with_name("7-b.part")
    for draft in (fresh, old):
        draft.write_bytes(b"half")
    long_ago_s = time.time() - 7200
    os.utime(old, (long_ago_s, long_ago_s))
    remove_drafts(path.parent)
    assert sorted(path.parent.iterdir()) == [fresh, path]
