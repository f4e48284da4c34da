"""Programming languages are known by all their names."""

import pytest

from search.retrieval.code_languages import code_language_names


@pytest.mark.parametrize("name", ["python", "py", " PY ", "Python3"])
def test_a_language_is_known_by_each_of_its_names(name):
    assert {"python", "py"} <= set(code_language_names([name]))


def test_a_name_that_is_not_known_stands_for_itself():
    assert code_language_names(["Brainfuck"]) == ("brainfuck",)


def test_names_of_several_languages_come_once_each_in_order():
    names = code_language_names(["go", "golang", "rs"])
    assert names == ("go", "golang", "rust", "rs")


def test_no_language_is_no_name():
    assert code_language_names([]) == ()
