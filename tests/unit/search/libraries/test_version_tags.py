"""Order of version tags."""

from hypothesis import given
from hypothesis import strategies as st

from search.libraries.library import newest_first


def order(*tags):
    return newest_first(tags, tag_of=str)


def test_versions_are_ordered_newest_first():
    assert order("v9", "v18", "v17") == ["v18", "v17", "v9"]
    assert order("1.9.0", "1.10.0", "1.10") == ["1.10.0", "1.10", "1.9.0"]
    assert order("v1.0-rc1", "v1.0", "v1.0-beta2", "v0.9", "v1.0.1") == [
        "v1.0.1", "v1.0", "v1.0-rc1", "v1.0-beta2", "v0.9",
    ]  # fmt: skip


@given(st.lists(st.text(max_size=10), unique=True))
def test_the_order_depends_on_nothing_but_the_tags(tags):
    assert newest_first(reversed(tags), tag_of=str) == newest_first(tags, tag_of=str)
