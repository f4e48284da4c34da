import pytest

from kebab.locations import DOCS

pytestmark = pytest.mark.slow


def test_page_can_be_followed(make_reader):
    make_reader().follow(DOCS / "first-steps.md")
