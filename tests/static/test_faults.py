"""The table of faults matches the code that it changes."""

from pathlib import Path

from tests.drills.faults.table import FAULTS

ROOT = Path(__file__).parents[2]


def test_each_fault_replaces_one_piece_of_code_and_names_tests_that_exist(subtests):
    for fault in FAULTS:
        with subtests.test(fault=fault.name):
            assert (ROOT / fault.file).read_text().count(fault.right) == 1
            assert [each for each in fault.tests if not (ROOT / "tests" / each).exists()] == []
