"""A folder that can be listed in part only: what was not seen is not taken for gone."""

import os
import subprocess

import pytest

from ingest.jobs.request import request_sync
from tests.support.jobs import counts, fill, indexed, sync, work

FILES = {"a.md": "alpha\n", "b.md": "beta\n", "later/c.md": "gamma\n"}
LONG_NAME = "n" * 200


@pytest.fixture
def deep_folder(folder):
    """Make a folder below `later` whose path is longer than any that the system takes: no listing gets there.

    That holds for every user; root may read what has no rights.
    """
    (folder / "later").mkdir()
    begun_at = os.open(folder / "later", os.O_RDONLY | os.O_DIRECTORY)
    place = begun_at
    for _ in range(4_200 // len(LONG_NAME)):
        os.mkdir(LONG_NAME, dir_fd=place)  # no path leads there
        deeper = os.open(LONG_NAME, os.O_RDONLY | os.O_DIRECTORY, dir_fd=place)
        os.close(place)
        place = deeper
    os.close(place)
    yield folder / "later" / LONG_NAME
    subprocess.run(["rm", "-rf", str(folder / "later" / LONG_NAME)], check=True)  # noqa: S607


def test_a_listing_that_fails_half_way_deletes_and_changes_nothing(workspace, folder, source, request):
    fill(folder, FILES)
    sync(source)
    before = indexed(workspace)
    fill(folder, {"a.md": "alpha anew\n"})
    (folder / "b.md").unlink()
    (folder / "later" / "c.md").rename(folder / "c.md")
    (folder / "later").rmdir()
    too_deep = request.getfixturevalue("deep_folder")

    job = work(request_sync(source))
    assert (job.state, job.items_total) == ("failed", 0)
    assert "cannot be listed: File name too long" in job.error
    assert indexed(workspace) == before

    subprocess.run(["rm", "-rf", str(too_deep)], check=True)  # noqa: S607
    assert counts(sync(source)) == {"seen": 2, "new": 1, "updated": 1, "deleted": 2, "parser_calls": 2}
