"""A word of many parts that are the same, as nobody types it."""

from search.libraries.begun import begun_word


def test_a_part_that_comes_again_is_looked_for_once():
    begun = begun_word("a.b." * 250)

    assert begun is not None
    assert begun.words == ("a", "b")
