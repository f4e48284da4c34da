"""What a path says of a file in a code base."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from search.retrieval.code_paths import BESIDE_WEIGHT, is_prose, is_test, path_globs, weight_of_path


@pytest.mark.parametrize(
    "path",
    [
        "tests/api/test_search.py",
        "shop/tests.py",
        "shop/test_cart.py",
        "shop/conftest.py",
        "src/cart.test.ts",
        "src/cart.spec.tsx",
        "src/__tests__/cart.ts",
        "store/open_test.go",
        "store/testdata/a.json",
        "app/src/test/java/org/acme/Cart.java",
        "app/src/main/java/org/acme/CartTest.java",
        "org/acme/CartIT.java",
        "crates/resolver-tests/src/lib.rs",
        "client/src/Button.stories.tsx",
        "spec/models/cart_spec.rb",
    ],
)
def test_what_tests_code_is_told_by_its_path(path):
    assert is_test(path)


@pytest.mark.parametrize(
    "path",
    [
        "shop/latest.py",
        "shop/contest/entry.py",
        "src/testimony.ts",
        "src/inspect.go",
        "org/acme/Contest.java",
        "lib/attestation/key.rs",
        "src/protest.java",
        "app/special/cart.rb",
    ],
)
def test_code_whose_name_only_sounds_like_a_test_is_none(path):
    assert not is_test(path)


@pytest.mark.parametrize(
    ("path", "expected"), [("docs/a.md", True), ("CHANGELOG.txt", True), ("a.py", False)]
)
def test_prose_is_told_by_its_ending(path, expected):
    assert is_prose(path) is expected


def test_code_counts_whole_and_what_stands_beside_it_less():
    asked = "How is a cart emptied?"
    assert weight_of_path("shop/cart.py", asked) == 1.0
    assert weight_of_path("tests/test_cart.py", asked) == BESIDE_WEIGHT
    assert weight_of_path("docs/cart.md", asked) == BESIDE_WEIGHT


@pytest.mark.parametrize(
    ("path", "asked"),
    [
        ("tests/test_cart.py", "Which tests cover an empty cart?"),
        ("tests/test_cart.py", "fixture of the cart"),
        ("docs/cart.md", "Where do the docs explain carts?"),
    ],
)
def test_who_asks_for_tests_or_prose_gets_them(path, asked):
    assert weight_of_path(path, asked) == 1.0


@pytest.mark.parametrize(
    ("pattern", "expected"),
    [
        ("*.py", ("**/*.py",)),
        ("src/**/*.py", ("src/**/*.py",)),
        ("./src/*.py", ("src/*.py",)),
        ("/setup.py", ("setup.py",)),
        ("src/", ("**/src/**",)),
        ("web/src/", ("web/src/**",)),
        ("tests", ("**/tests", "**/tests/**")),
        ("web/app", ("web/app", "web/app/**")),
        (" *.ts ", ("**/*.ts",)),
        ("", ("",)),
    ],
)
def test_patterns_are_read_as_in_a_gitignore(pattern, expected):
    assert path_globs([pattern]) == expected


def test_the_same_pattern_twice_is_one():
    assert path_globs(["*.py", "**/*.py"]) == ("**/*.py",)


@given(st.lists(st.text("ab/.*?[]!", max_size=12)))
def test_no_pattern_is_too_odd_to_be_read(patterns):
    assert len(path_globs(patterns)) <= 2 * len(patterns)
