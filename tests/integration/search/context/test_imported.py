"""Hits in code lead to the files that they import, within their own source and version."""

import pytest

from tests.integration.search.context.workspace_files import index, put_file

MAIN = """from shop.cart import Cart, empty
from shop import prices
import shop.stock


def checkout_skewer(cart: Cart):
    return prices.total(cart)
"""
CART = '''"""Carts."""


class Cart:
    """Holds things."""


def empty():
    return Cart()
'''


@pytest.fixture
def ask_for_imports(ask_for):
    """Ask for what the hits import, by their paths with how each came."""

    def ask(request, **body):
        pack = ask_for(
            request, mode="lexical", expand={"neighbours": 0, "siblings": False, "imports": True}, **body
        )
        return {
            file["doc_path"]: (segment["reached_by"], pytest.approx(segment["score"]))
            for file in pack["files"]
            for segment in file["segments"]
        }

    return ask


def put_shop(workspace, root="", **place):
    put_file(workspace, f"{root}shop/main.py", MAIN, **place)
    put_file(workspace, f"{root}shop/cart.py", CART, **place)
    put_file(workspace, f"{root}shop/prices.py", "def total(cart):\n    return 3\n", **place)
    put_file(workspace, f"{root}shop/stock/__init__.py", "SHELVES = 4\n", **place)
    put_file(workspace, f"{root}shop/unrelated.py", "OTHER = 5\n", **place)


def test_imported_files_come_with_three_fifths_of_the_score(workspace, ask_for_imports):
    put_shop(workspace)
    index(workspace)
    found = ask_for_imports("checkout_skewer")
    _, score = found.pop("shop/main.py")
    assert found == {
        "shop/cart.py": ("import", pytest.approx(score.expected * 0.6)),
        "shop/prices.py": ("import", pytest.approx(score.expected * 0.6)),
        "shop/stock/__init__.py": ("import", pytest.approx(score.expected * 0.6)),
    }


def test_imports_are_not_followed_unless_asked_for(workspace, ask_for):
    put_shop(workspace)
    index(workspace)
    assert [file["doc_path"] for file in ask_for("checkout_skewer", mode="lexical")["files"]] == [
        "shop/main.py"
    ]


def test_imports_stay_in_their_own_source_and_version(workspace, ask_for_imports):
    put_file(workspace, "shop/main.py", MAIN, source="ours")
    put_shop(workspace, source="theirs")
    put_shop(workspace, source="ours", version="2.0")
    index(workspace)
    assert set(ask_for_imports("checkout_skewer", filters={"source": ["ours"]})) == {"shop/main.py"}
    assert len(ask_for_imports("checkout_skewer", filters={"source": ["theirs"]})) == 4
    assert len(ask_for_imports("checkout_skewer", filters={"version": ["2.0"]})) == 4


def test_imported_files_are_under_the_hits_filters(workspace, ask_for_imports):
    put_shop(workspace)
    index(workspace)
    filters = {"path_glob": ["shop/main.py", "shop/prices.py"]}
    assert set(ask_for_imports("checkout_skewer", filters=filters)) == {"shop/main.py", "shop/prices.py"}


def test_nothing_is_imported_from_another_workspace(workspace, other_workspace, ask_for_imports):
    put_file(workspace, "shop/main.py", MAIN)
    put_shop(other_workspace)
    index(other_workspace)
    index(workspace)
    assert set(ask_for_imports("checkout_skewer")) == {"shop/main.py"}


def test_imported_file_contributes_its_definitions(workspace, ask_for):
    filler = "".join(f"\n\ndef unused_{n}():\n    return {list(range(40))}\n" for n in range(30))
    put_file(workspace, "shop/main.py", "from shop.cart import wanted\n\nwanted('skewer')\n")
    put_file(workspace, "shop/cart.py", f"{filler}\n\ndef wanted(what):\n    return what\n{filler}")
    index(workspace)
    expand = {"neighbours": 0, "siblings": False, "imports": True}
    pack = ask_for("skewer", mode="lexical", expand=expand)
    [segment] = next(file for file in pack["files"] if file["doc_path"] == "shop/cart.py")["segments"]
    assert "def wanted(what):" in segment["text"] and len(segment["chunks"]) == 1


def test_at_most_five_imports_of_a_hit_are_followed_in_order(workspace, ask_for_imports):
    lines = "".join(f"from shop.part{n} import thing{n}\n" for n in range(9))
    put_file(workspace, "shop/main.py", f"{lines}\n\nskewer = thing7() + thing8()\n")
    filler = "\n".join(f"value_{n} = {n}" for n in range(300))
    put_file(workspace, "shop/late.py", f"{lines}\n{filler}\nkebab = thing7() + thing8()\n")
    for n in range(9):
        put_file(workspace, f"shop/part{n}.py", f"def thing{n}():\n    return {n}\n")
    index(workspace)
    assert len(ask_for_imports("skewer")) == 6
    late = ask_for_imports("kebab")
    assert {"shop/part7.py", "shop/part8.py"} < set(late) and len(late) == 6


def test_a_go_package_gives_its_files_without_tests(workspace, ask_for_imports):
    put_file(
        workspace,
        "cmd/main.go",
        'package main\n\nimport "github.com/acme/shop/store"\n\nfunc skewer() { store.Open() }\n',
    )
    put_file(workspace, "store/open.go", "package store\n\nfunc Open() {}\n")
    put_file(workspace, "store/open_test.go", "package store\n\nfunc TestOpen() {}\n")
    put_file(workspace, "store/deep/other.go", "package deep\n")
    put_file(workspace, "store/notes.md", "Notes.\n")
    index(workspace)
    assert set(ask_for_imports("skewer")) == {"cmd/main.go", "store/open.go"}


def test_a_java_class_of_another_module_is_found_below_its_source_root(workspace, ask_for_imports):
    text = "package org.acme;\n\nimport org.acme.shop.Cart;\n\nclass Skewer { Cart cart; }\n"
    put_file(workspace, "web/src/main/java/org/acme/Skewer.java", text)
    put_file(
        workspace, "core/src/main/java/org/acme/shop/Cart.java", "package org.acme.shop;\nclass Cart {}\n"
    )
    put_file(
        workspace, "core/src/test/java/org/acme/shop/Cart.java", "package org.acme.shop;\nclass Cart {}\n"
    )
    put_file(
        workspace, "core/src/main/java/org/acme/other/Cart.java", "package org.acme.other;\nclass Cart {}\n"
    )
    index(workspace)
    assert set(ask_for_imports("skewer")) == {
        "web/src/main/java/org/acme/Skewer.java",
        "core/src/main/java/org/acme/shop/Cart.java",
    }


def test_prose_imports_nothing(workspace, ask_for_imports):
    put_file(workspace, "a.md", "from shop.cart import Cart\n\nskewer\n")
    put_file(workspace, "shop/cart.py", CART)
    index(workspace)
    assert set(ask_for_imports("skewer")) == {"a.md"}
