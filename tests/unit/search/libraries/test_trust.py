"""The trust score, by the specification's own examples."""

from hypothesis import given
from hypothesis import strategies as st

from search.libraries.trust import TrustFactors, one_decimal, trust_score


def score(stars, snippets, *merits):
    standing = TrustFactors(
        stars=stars, total_snippets=snippets, is_on_git_host="host" in merits,
        is_indexed="indexed" in merits, is_described="described" in merits,
    )  # fmt: skip
    return trust_score(standing)


def test_score_adds_up_and_is_capped(subtests):
    cases = [
        (10_000, 1_500, ("host", "indexed", "described"), 10.0),
        (999, 250, ("host", "indexed", "described"), 6.5), (99, 100, ("indexed", "described"), 4.2),
        (None, 125, (), 0.3), (None, 0, (), 0.0), (None, 175, (), 0.3), (0, 0, ("host",), 1.0),
        (10**9, 10**9, ("host", "indexed", "described"), 10.0),
    ]  # fmt: skip
    for stars, snippets, merits, expected in cases:
        with subtests.test(stars=stars):
            assert score(stars, snippets, *merits) == expected
    # What ECMAScript's toFixed(1) gives: 1.45 lies below the middle in binary, 8.35 above it.
    cases = [
        (0.25, 0.3), (0.35, 0.3), (0.45, 0.5), (1.45, 1.4), (8.35, 8.3), (2.5, 2.5), (10.0, 10.0),
        (0.05, 0.1),
    ]  # fmt: skip
    for value, rounded in cases:
        with subtests.test(value=value):
            assert one_decimal(value) == rounded


@given(stars=st.none() | st.integers(0, 10**9), snippets=st.integers(0, 10**9))
def test_score_has_one_decimal_between_zero_and_ten(stars, snippets):
    found = score(stars, snippets, "host", "indexed", "described")
    assert 3.0 <= found <= 10.0
    assert found == round(found, 1)
