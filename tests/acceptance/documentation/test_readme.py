import shutil

import pytest

from tests.support.paths import ROOT

pytestmark = pytest.mark.slow


def test_page_can_be_followed(make_reader, handbook):
    reader = make_reader()
    shutil.copytree(handbook, reader.terminal.home / "handbook")
    reader.write({"travel.md": "# Travel\n\nTrips are paid back within thirty days.\n"})
    reader.follow(ROOT / "README.md")
