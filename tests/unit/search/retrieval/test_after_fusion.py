"""The cap, the cutoff and the channels keep the contract's numbers."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from search.retrieval.cap import cap_per_file
from search.retrieval.channels import QueryChannels, build_channels
from search.retrieval.cutoff import plain_cutoff, smart_cutoff


@pytest.mark.parametrize(
    ("cap", "kept"), [(2, "aabc"), (1, "abc"), (5, "aaabc"), (0, "aaabc"), (-1, "aaabc")]
)
def test_at_most_cap_candidates_of_a_file_are_kept_in_order(cap, kept):
    assert "".join(cap_per_file("aaabc", file_of=str, cap=cap)) == kept


@given(st.lists(st.sampled_from("abc")), st.integers(1, 4))
def test_the_cap_keeps_the_first_of_each_file(files, cap):
    numbered = list(enumerate(files))
    kept = cap_per_file(numbered, file_of=lambda item: item[1], cap=cap)
    assert kept == sorted(kept)
    for name in "abc":
        assert [item for item in kept if item[1] == name] == [item for item in numbered if item[1] == name][
            :cap
        ]


@pytest.mark.parametrize(
    ("scores", "kept"),
    [
        ([0.9, 0.8, 0.46, 0.44, 0.3], 3),
        ([0.2, 0.1], 1),
        ([0.5, 0.3, 0.26, 0.25, 0.24], 4),
        ([0.9] * 12, 8),
        ([], 0),
        ([0.25], 1),
        ([0.9, 0.24, 0.9], 1),
        ([0.9, 0.25, 0.44, 0.9], 2),
    ],
)
def test_the_cutoff_keeps_the_contract_s_numbers(scores, kept):
    assert smart_cutoff(scores) == kept


@pytest.mark.parametrize(("n_hits", "kept"), [(0, 0), (3, 3), (8, 8), (50, 8)])
def test_without_rerank_scores_the_first_eight_are_taken(n_hits, kept):
    assert plain_cutoff(n_hits) == kept


def test_terms_lead_the_lexical_channel_and_follow_in_the_rerank_channel():
    assert build_channels("如何处理登录流程", ["AuthService", "login"]) == QueryChannels(
        vector="如何处理登录流程",
        lexical="AuthService login 如何处理登录流程",
        rerank="如何处理登录流程 AuthService login",
    )


def test_terms_are_trimmed_and_blank_and_repeated_ones_dropped():
    channels = build_channels(" ask ", [" b", "a ", "", "b", "  ", "a"])
    assert (channels.lexical, channels.rerank) == ("b a ask", "ask b a")


@pytest.mark.parametrize("terms", [[], [" ", ""]])
def test_without_terms_all_channels_are_the_request(terms):
    assert build_channels("ask", terms) == QueryChannels(vector="ask", lexical="ask", rerank="ask")


def test_a_given_channel_stays_as_given():
    assert build_channels("ask", vector="v") == QueryChannels(vector="v", lexical="ask", rerank="ask")
    assert build_channels("ask", ["t"], lexical="", rerank="r") == QueryChannels(
        vector="ask", lexical="", rerank="r"
    )
