"""A raw expression that FTS5 would take long to read is refused before FTS5 sees it."""

import pytest

from search.retrieval.errors import InvalidQuery
from search.retrieval.match import MAX_RAW_CHARS, MAX_TOKENS, check_size

WORDS = [f"word{number}" for number in range(MAX_TOKENS + 1)]


@pytest.mark.parametrize(
    ("raw", "named"),
    [
        (" OR ".join(WORDS), f"has {MAX_TOKENS + 1} words"),
        (" OR ".join(["word"] * 1_000), f"has {8 * 1_000 - 4} characters"),
        ("深" * (MAX_RAW_CHARS + 1), f"has {MAX_RAW_CHARS + 1} characters"),
        ("(" * 100_000, "has 100000 characters"),
    ],
)
def test_what_is_too_large_is_refused_by_its_size(raw, named):
    with pytest.raises(InvalidQuery, match=named):
        check_size(raw)


@pytest.mark.parametrize(
    "raw",
    [
        " OR ".join(WORDS[:MAX_TOKENS]),
        " AND NOT ".join(WORDS[: MAX_TOKENS // 2] * 2),
        "深" * MAX_RAW_CHARS,
        'NEAR("a b" c, 5)',
    ],
)
def test_what_a_person_writes_is_let_through(raw):
    check_size(raw)
