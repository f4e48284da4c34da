"""Files instead of passages, and an overview before the text, over HTTP."""

import pytest

from tests.integration.search.context.workspace_files import json_package, put_file

PROSE = "# Guide\n\nA skewer.\n\n## Grill\n\nOver charcoal.\n\n## Serve\n\nHot.\n"
ALONE = {"neighbours": 0, "siblings": False}


def fill(workspace):
    for path, text in json_package().items():
        put_file(workspace, path, text)
    put_file(
        workspace, "tests/test_scanner.py", "def test_scanstring():\n    scanner = make_scanner()\n" * 30
    )
    put_file(workspace, "guide.md", PROSE)


@pytest.fixture
def workspace(filled):
    return filled


def first_file(pack):
    return pack["files"][0]["doc_path"]


def test_by_passage_is_the_default_and_by_file_puts_the_code_before_its_tests(ask_for):
    request = {"technical_terms": ["make_scanner"], "mode": "lexical"}
    assert first_file(ask_for("scanner", **request)) == "tests/test_scanner.py"
    assert first_file(ask_for("scanner", by_file=True, **request)) == "json/scanner.py"


def test_by_file_ranks_and_limits_files_and_cuts_no_hits_off(ask_for):
    few, many = (
        ask_for("json decode", by_file=by_file, expand=ALONE, mode="lexical") for by_file in (False, True)
    )
    hits = [
        sum(len(each["chunks"]) for file in pack["files"] for each in file["segments"])
        for pack in (few, many)
    ]
    assert hits[0] <= 8 < hits[1]
    assert len(ask_for("json decode encode scanner", k=2, by_file=True, expand=ALONE)["files"]) == 2
    scores = [file["score"] for file in ask_for("json decode encode", by_file=True)["files"]]
    assert scores[:2] == pytest.approx([1.0, 61 / 62])


def test_overview_is_a_part_of_the_budget_and_leaves_half_of_it_to_the_text(ask_for):
    assert ask_for("decode")["overview"] is None
    pack = ask_for("decode", by_file=True, response_mode="overview", budget={"tokens": 1_200})
    sizes = [segment["size"] for file in pack["files"] for segment in file["segments"]]
    assert pack["response_mode"] == "overview" and pack["overview"]["files"]
    assert 0 < pack["overview"]["size"] <= 600
    assert pack["budget"]["used"] == pack["overview"]["size"] + sum(sizes) <= 1_200
    assert sizes
    pack = ask_for("decode", by_file=True, response_mode="overview", budget={"tokens": 60})
    assert pack["overview"]["left_out"] > 0
    pack = ask_for("decode", response_mode="overview", budget={"tokens": 2})
    assert pack["files"] == [] and len(pack["warnings"]) == 1


def test_overview_of_prose_has_the_headings(ask_for):
    [file] = ask_for("charcoal", mode="lexical", response_mode="overview")["overview"]["files"]
    assert [symbol["heading_path"][-1] for symbol in file["symbols"]] == ["Guide"]
    assert file["code_lang"] is None
    assert [symbol["has_hit"] for symbol in file["symbols"]] == [True]


def test_filters_narrow_overview_and_text_alike(ask_for):
    for filters in ({"path_not_glob": ["json/**"]}, {"code_lang": ["rust"]}):
        pack = ask_for("decode scanner", by_file=True, response_mode="overview", filters=filters)
        paths = {file["doc_path"] for file in (*pack["files"], *pack["overview"]["files"])}
        assert not any(path.startswith("json/") for path in paths)
