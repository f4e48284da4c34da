"""`kebab context`."""

import pytest

from kebab.cli.errors import Exit
from tests.cli.running import error_of, run, run_json
from tests.integration.search.context.filling import index, put
from tests.support.schemas import validate


@pytest.fixture
def kitchen(workspace):
    put(workspace, "kitchen/grill.py", "def grill(skewer):\n    return skewer\n")
    put(workspace, "kitchen/salad.py", "def toss(salad):\n    return salad\n\n\nSKEWER = None\n")
    put(workspace, "tests/test_grill.py", "def test_grill():\n    assert grill('skewer')\n")
    index(workspace)
    return workspace


def paths(pack):
    return [file["doc_path"] for file in pack["files"]]


def test_people_get_the_text_that_agents_are_given(kitchen):
    code, printed, _ = run("context", "grill a skewer", "--path-glob", "kitchen/grill.py")
    assert code == Exit.DONE
    assert (
        printed
        == "### kitchen/grill.py#L1-L2 (docs)\n```python\ndef grill(skewer):\n    return skewer\n```\n"
    )


def test_the_document_is_a_context_pack(kitchen):
    pack = run_json("context", "skewer", "--term", "grill")
    validate("context_pack.v1", pack)
    assert pack["technical_terms"] == ["grill"] and paths(pack)[0] == "kitchen/grill.py"


def test_files_are_left_out_by_patterns(kitchen):
    assert "tests/test_grill.py" in paths(run_json("context", "skewer"))
    assert "tests/test_grill.py" not in paths(run_json("context", "skewer", "--path-not-glob", "tests/**"))


def test_an_overview_is_printed_first(kitchen):
    _, printed, _ = run("context", "skewer", "--overview")
    assert printed.startswith("## Overview\n")
    assert run_json("context", "skewer", "--overview")["response_mode"] == "overview"


def test_a_budget_is_kept(kitchen):
    assert run_json("context", "skewer", "--tokens", "40")["budget"]["used"] <= 40


def test_nothing_found_is_told_by_the_exit_code(kitchen):
    assert run("context", "skewer", "--code-lang", "rust")[0] == Exit.NOTHING


def test_a_budget_of_nothing_is_refused(kitchen):
    assert error_of("context", "skewer", "--tokens", "0", code=Exit.ERROR)["code"] == "invalid_query"
