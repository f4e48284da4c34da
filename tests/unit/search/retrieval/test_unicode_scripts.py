"""Words of scripts with blanks between them, and without."""

import pytest

from search.retrieval.text.unicode_scripts import count_words


@pytest.mark.parametrize(
    ("text", "count"),
    [("sleep", 1), ("the price of sleep?", 4), ("部署", 1), ("数据库备份 MySQL", 3), ("", 0), ("?", 0)],
)
def test_words_are_counted(text, count):
    assert count_words(text) == count
