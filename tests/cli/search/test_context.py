import pytest

from kebab.exit_codes import Exit
from tests.cli.commands import error_of, run, run_json
from tests.integration.search.context.workspace_files import index, put_file
from tests.support.schemas import validate

GRILL = "### kitchen/grill.py#L1-L2 (docs)\n```python\ndef grill(skewer):\n    return skewer\n```\n"


@pytest.fixture
def kitchen(workspace):
    put_file(workspace, "kitchen/grill.py", "def grill(skewer):\n    return skewer\n")
    put_file(workspace, "kitchen/salad.py", "def toss(salad):\n    return salad\n\n\nSKEWER = None\n")
    put_file(workspace, "tests/test_grill.py", "def test_grill():\n    assert grill('skewer')\n")
    index(workspace)
    return workspace


def paths(pack):
    return [file["doc_path"] for file in pack["files"]]


def test_pack_is_printed_as_text_and_as_a_document(kitchen):
    code, printed, _ = run("context", "grill a skewer", "--path-glob", "kitchen/grill.py")
    assert (code, printed) == (Exit.DONE, GRILL)
    pack = run_json("context", "skewer", "--term", "grill")
    validate("context_pack.v1", pack)
    assert pack["technical_terms"] == ["grill"]
    assert paths(pack)[0] == "kitchen/grill.py"


def test_each_option_changes_the_pack(kitchen):
    assert "tests/test_grill.py" in paths(run_json("context", "skewer"))
    assert "tests/test_grill.py" not in paths(run_json("context", "skewer", "--path-not-glob", "tests/**"))
    assert run("context", "skewer", "--overview")[1].startswith("## Overview\n")
    assert run_json("context", "skewer", "--overview")["response_mode"] == "overview"
    assert run_json("context", "skewer", "--tokens", "40")["budget"]["used"] <= 40


def test_nothing_found_is_exit_1_and_an_empty_budget_an_error(kitchen):
    assert run("context", "skewer", "--code-lang", "rust")[0] == Exit.NOTHING
    assert error_of("context", "skewer", "--tokens", "0", code=Exit.ERROR)["code"] == "invalid_request"
