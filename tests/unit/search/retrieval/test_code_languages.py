"""Names of programming languages."""

from search.retrieval.code.languages import code_language_names


def test_language_aliases_name_the_same_code_language(subtests):
    for name in ("python", "py", " PY ", "Python3"):
        with subtests.test(name=name):
            assert {"python", "py"} <= set(code_language_names([name]))
    assert code_language_names(["Brainfuck"]) == ("brainfuck",)
    names = code_language_names(["go", "golang", "rs"])
    assert names == ("go", "golang", "rust", "rs")
    assert code_language_names([]) == ()
