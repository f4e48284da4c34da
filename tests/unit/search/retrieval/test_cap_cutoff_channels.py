"""The numbers of the retrieval contract for cap, cutoff and channels."""

from search.retrieval.fusion.post_fusion import cap_per_file, plain_cutoff, smart_cutoff
from search.retrieval.query.channels import QueryChannels, build_channels


def test_cap_keeps_the_first_of_each_file(subtests):
    for cap, kept in [(2, "aabc"), (1, "abc"), (5, "aaabc"), (0, "aaabc"), (-1, "aaabc")]:
        with subtests.test(cap=cap):
            assert "".join(cap_per_file("aaabc", file_of=str, cap=cap)) == kept


def test_cutoff_keeps_the_numbers_of_the_contract(subtests):
    cases = [
        ([0.9, 0.8, 0.46, 0.44, 0.3], 3), ([0.2, 0.1], 1), ([0.5, 0.3, 0.26, 0.25, 0.24], 4),
        ([0.9] * 12, 8), ([], 0), ([0.25], 1), ([0.9, 0.24, 0.9], 1), ([0.9, 0.25, 0.44, 0.9], 2),
    ]  # fmt: skip
    for scores, kept in cases:
        with subtests.test(scores=scores):
            assert smart_cutoff(scores) == kept
    for n_hits, kept in ((0, 0), (3, 3), (8, 8), (50, 8)):
        with subtests.test(n_hits=n_hits):
            assert plain_cutoff(n_hits) == kept


def test_channels_are_built_from_request_and_terms(subtests):
    assert build_channels("如何处理登录流程", ["AuthService", "login"]) == QueryChannels(
        vector="如何处理登录流程",
        lexical="AuthService login 如何处理登录流程",
        rerank="如何处理登录流程 AuthService login",
    )
    channels = build_channels(" ask ", [" b", "a ", "", "b", "  ", "a"])
    assert (channels.lexical, channels.rerank) == ("b a ask", "ask b a")
    for terms in ([], [" ", ""]):
        with subtests.test(terms=terms):
            assert build_channels("ask", terms) == QueryChannels(vector="ask", lexical="ask", rerank="ask")
    assert build_channels("ask", vector="v") == QueryChannels(vector="v", lexical="ask", rerank="ask")
    assert build_channels("ask", ["t"], lexical="", rerank="r") == QueryChannels(
        vector="ask", lexical="", rerank="r"
    )
