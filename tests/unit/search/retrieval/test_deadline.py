"""The deadline of a search."""

from math import inf

from search.retrieval.deadline import deadline, is_over, limit_time, seconds_left


def test_earlier_deadline_holds_within_a_later_one():
    assert (deadline(), seconds_left(), is_over()) == (inf, inf, False)
    with limit_time(60):
        outer = deadline()
        assert not is_over()
        with limit_time(3_600):
            assert deadline() == outer
        with limit_time(0):
            assert (is_over(), seconds_left()) == (True, 0.0)
            with limit_time(60):
                assert is_over()
        assert deadline() == outer
    assert deadline() == inf
