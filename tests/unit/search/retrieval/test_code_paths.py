"""Classification of paths as code, tests or prose."""

from hypothesis import given
from hypothesis import strategies as st

from search.retrieval.code.paths import SECONDARY_WEIGHT, is_prose, is_test, path_globs, weight_of_path


def test_test_and_prose_paths_are_recognised(subtests):
    tests = [
        "tests/api/test_search.py", "shop/tests.py", "shop/test_cart.py", "shop/conftest.py",
        "src/cart.test.ts", "src/cart.spec.tsx", "src/__tests__/cart.ts", "store/open_test.go",
        "store/testdata/a.json", "app/src/test/java/org/acme/Cart.java",
        "app/src/main/java/org/acme/CartTest.java", "org/acme/CartIT.java",
        "crates/resolver-tests/src/lib.rs", "client/src/Button.stories.tsx", "spec/models/cart_spec.rb",
    ]  # fmt: skip
    others = [
        "shop/latest.py", "shop/contest/entry.py", "src/testimony.ts", "src/inspect.go",
        "org/acme/Contest.java", "lib/attestation/key.rs", "src/protest.java", "app/special/cart.rb",
    ]  # fmt: skip
    for path in (*tests, *others):
        with subtests.test(path=path):
            assert is_test(path) is (path in tests)
    for path, expected in [("docs/a.md", True), ("CHANGELOG.txt", True), ("a.py", False)]:
        with subtests.test(path=path):
            assert is_prose(path) is expected


def test_code_weighs_more_than_tests_and_prose(subtests):
    asked = "How is a cart emptied?"
    assert weight_of_path("shop/cart.py", asked) == 1.0
    assert weight_of_path("tests/test_cart.py", asked) == SECONDARY_WEIGHT
    assert weight_of_path("docs/cart.md", asked) == SECONDARY_WEIGHT
    cases = [
        ("tests/test_cart.py", "Which tests cover an empty cart?"),
        ("tests/test_cart.py", "fixture of the cart"), ("docs/cart.md", "Where do the docs explain carts?"),
    ]  # fmt: skip
    for path, asked in cases:
        with subtests.test(path=path):
            assert weight_of_path(path, asked) == 1.0


def test_patterns_are_read_as_in_a_gitignore(subtests):
    cases = [
        ("*.py", ("**/*.py",)), ("src/**/*.py", ("src/**/*.py",)), ("./src/*.py", ("src/*.py",)),
        ("/setup.py", ("setup.py",)), ("src/", ("**/src/**",)), ("web/src/", ("web/src/**",)),
        ("tests", ("**/tests", "**/tests/**")), ("web/app", ("web/app", "web/app/**")),
        (" *.ts ", ("**/*.ts",)), ("", ("",)),
    ]  # fmt: skip
    for pattern, expected in cases:
        with subtests.test(pattern=pattern):
            assert path_globs([pattern]) == expected
    assert path_globs(["*.py", "**/*.py"]) == ("**/*.py",)


@given(st.lists(st.text("ab/.*?[]!", max_size=12)))
def test_no_pattern_is_too_odd_to_be_read(patterns):
    assert len(path_globs(patterns)) <= 2 * len(patterns)
