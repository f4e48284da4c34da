"""The cap, the cutoff, packing and the channels keep the contract's numbers."""

from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from search.retrieval.cap import cap_per_file
from search.retrieval.channels import QueryChannels, build_channels
from search.retrieval.citation import Citation
from search.retrieval.cutoff import plain_cutoff, smart_cutoff
from search.retrieval.packing import Segment, merge, pack


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


def lines(start, end, score=0.5, path="a.py", section=None):
    citation = Citation(kind="line", path=path, section=section, start=start, end=end)
    return Segment(doc_id=path, citation=citation, score=score)


def cited(segments):
    return [segment.citation.uri.partition("#")[2] for segment in segments]


def one(segment):
    return 1


def test_a_file_s_hits_are_merged_and_its_three_best_kept_in_file_order():
    hits = [lines(80, 90, 0.6), lines(50, 60, 0.7), lines(30, 35, 0.8), lines(8, 14, 0.5), lines(1, 9, 0.9)]
    [packed] = pack(hits, size_of=one, budget=100)
    assert cited(packed.segments) == ["L1-L14", "L30-L35", "L50-L60"]
    assert packed.score == 0.9 and packed.path == "a.py"
    assert [segment.score for segment in packed.segments] == [0.9, 0.8, 0.7]


def test_touching_lines_are_merged_and_lines_apart_are_not():
    assert cited(merge([lines(1, 9), lines(10, 14)])) == ["L1-L14"]
    assert cited(merge([lines(1, 9), lines(11, 14)])) == ["L1-L9", "L11-L14"]
    assert cited(merge([lines(1, 20), lines(3, 4), lines(21, 22)])) == ["L1-L22"]


def test_a_merged_segment_keeps_its_first_section():
    [merged] = merge([lines(5, 9, section="Use"), lines(1, 5, section="Install")])
    assert merged.citation.section == "Install"


def test_files_come_by_their_best_score():
    hits = [lines(1, 2, 0.5, "b"), lines(1, 2, 0.9, "c"), lines(1, 2, 0.5, "a"), lines(9, 9, 0.1, "c")]
    assert [packed.path for packed in pack(hits, size_of=one, budget=100)] == ["c", "a", "b"]


def test_what_does_not_fit_the_budget_is_left_out():
    hits = [
        lines(1, 10, 0.9),
        lines(20, 40, 0.8),
        lines(60, 63, 0.7),
        lines(1, 9, 0.6, "b"),
        lines(1, 1, 0.5, "c"),
    ]
    packed = pack(hits, size_of=lambda segment: segment.citation.end - segment.citation.start + 1, budget=16)
    assert [(file.path, cited(file.segments)) for file in packed] == [
        ("a.py", ["L1-L10", "L60-L63"]),
        ("c", ["L1"]),
    ]


def test_equal_paths_of_two_documents_stay_apart():
    first = lines(1, 5)
    second = Segment(doc_id="other", citation=lines(4, 9).citation, score=0.4)
    assert len(pack([first, second], size_of=one, budget=9)) == 2


def test_pages_regions_and_times_are_merged_only_where_they_meet():
    def segment(**fields):
        return Segment(doc_id="d", citation=Citation(path="d", **fields), score=0.5)

    page_4, page_5 = segment(kind="page", page=4), segment(kind="page", page=5)
    assert cited(merge([page_5, page_4, page_4])) == ["page=4", "page=5"]
    talks = [segment(kind="time", start_s=start, end_s=start + 10.0) for start in (0.0, 10.0, 20.5)]
    assert cited(merge(talks)) == ["t=0.000,20.000", "t=20.500,30.500"]
    box = segment(kind="region", x=0, y=0, w=9, h=9)
    assert cited(merge([box, box, segment(kind="region", x=1, y=0, w=9, h=9)])) == [
        "xywh=0,0,9,9",
        "xywh=1,0,9,9",
    ]


SPANS = st.lists(st.tuples(st.integers(1, 40), st.integers(0, 9)), max_size=12)


@given(SPANS)
def test_merging_covers_the_same_lines_with_gaps_between(spans):
    merged = merge([lines(start, start + length) for start, length in spans])
    covered = {line for start, length in spans for line in range(start, start + length + 1)}
    pairs = [(segment.citation.start, segment.citation.end) for segment in merged]
    assert {line for start, end in pairs for line in range(start, end + 1)} == covered
    assert all(end + 1 < start for (_, end), (start, _) in pairwise(pairs))


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
