"""Code by file: which files a pack holds, what narrows them, and the text that agents are given."""

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from kebab.people.reader import Reader
from search.context import Budget, BudgetUnit, CodeRequest, ResponseMode, pack_text, retrieve_code
from search.context.text_format import NOTHING_FOUND
from search.embedders.tokenizer import TokenCounter
from search.models import Source
from search.retrieval.errors import InvalidFilter
from tests.integration.search.context.filling import index, json_package, put

SKEWERS = "".join(f"\n\ndef skewer_{n}(meat):\n    return grill(meat, {n})\n" for n in range(8))
GRILL = '''"""Heat."""


def grill(meat, minutes):
    """Grill a skewer over charcoal."""
    return meat, minutes
'''


@pytest.fixture
def kitchen(workspace):
    put(workspace, "kitchen/grill.py", GRILL)
    put(workspace, "kitchen/skewers.py", f"from kitchen.grill import grill\n{SKEWERS}")
    put(workspace, "tests/test_grill.py", "def test_grill_skewer_over_charcoal():\n    assert grill(1, 2)\n")
    put(workspace, "web/grill.ts", "export function grill(skewer: string) {\n  return skewer;\n}\n")
    put(workspace, "docs/grill.md", "# Grill\n\nHow a skewer is grilled over charcoal.\n")
    index(workspace)
    return workspace


@pytest.fixture
def package(workspace):
    for path, text in json_package().items():
        put(workspace, path, text)
    index(workspace)
    return workspace


def retrieved(workspace, request="grill a skewer over charcoal", *, reader=Reader(), **fields):  # noqa: B008
    return retrieve_code(workspace, reader, CodeRequest(information_request=request, **fields))


def paths(pack):
    return [file.doc_path for file in pack.files]


def tokens(total):
    return Budget(unit=BudgetUnit.TOKENS, total=total)


def test_the_code_itself_comes_before_its_tests_and_its_manual(kitchen):
    found = paths(retrieved(kitchen))
    assert found[0] == "kitchen/grill.py"
    assert found.index("kitchen/skewers.py") < found.index("tests/test_grill.py")


def test_who_asks_for_tests_gets_them_first(kitchen):
    assert (
        paths(retrieved(kitchen, "test that a skewer is grilled over charcoal"))[0] == "tests/test_grill.py"
    )


def test_included_are_files_that_fit_a_pattern(kitchen):
    assert paths(retrieved(kitchen, include=("kitchen/*.py",))) == ["kitchen/grill.py", "kitchen/skewers.py"]


def test_excluded_are_files_that_fit_a_pattern_also_where_they_are_imported(kitchen):
    found = paths(retrieved(kitchen, "skewer_3", exclude=("tests/**", "docs/**", "**/grill.*")))
    assert found == ["kitchen/skewers.py"]


def test_patterns_without_a_folder_are_meant_at_any_depth(kitchen):
    assert paths(retrieved(kitchen, include=("*.ts",))) == ["web/grill.ts"]
    assert "tests/test_grill.py" not in paths(retrieved(kitchen, exclude=("tests/",)))


@pytest.mark.parametrize("name", ["typescript", "ts", "TSX"])
def test_languages_go_by_all_their_names(kitchen, name):
    assert paths(retrieved(kitchen, languages=(name,))) == ["web/grill.ts"]


def test_a_source_is_named_by_its_key(kitchen):
    put(kitchen, "other/grill.py", GRILL, source="other")
    index(kitchen)
    assert paths(retrieved(kitchen, source=("other",))) == ["other/grill.py"]


def test_a_malformed_pattern_is_refused_by_name(kitchen):
    with pytest.raises(InvalidFilter, match="abc"):
        retrieved(kitchen, exclude=("[abc",))


def test_a_source_that_the_reader_may_not_read_is_not_in_the_pack(kitchen):
    put(kitchen, "secret/grill.py", GRILL, source="secret")
    index(kitchen)
    Source.objects.in_workspace(kitchen).filter(key="secret").update(is_restricted=True)
    for mode in ResponseMode:
        assert "secret" not in pack_text(retrieved(kitchen, response_mode=mode))
    assert retrieved(kitchen, source=("secret",)).files == ()


def test_nothing_of_another_workspace_is_in_the_pack(kitchen, other_workspace):
    put(other_workspace, "theirs/grill.py", GRILL)
    index(other_workspace)
    assert "theirs" not in pack_text(retrieved(kitchen, technical_terms=("grill",)))


def test_technical_terms_lead_to_the_file_that_has_them(package):
    vague = "Where is this defined?"
    assert paths(retrieved(package, vague, technical_terms=("JSONDecodeError",)))[0] == "json/decoder.py"


def test_quotes_around_everything_are_no_syntax(kitchen):
    assert paths(retrieved(kitchen, "in OR'", technical_terms=("'grill", "OR'")))[0].endswith(
        ("grill.py", "grill.ts")
    )


def test_what_is_imported_by_a_hit_comes_along(kitchen):
    pack = retrieved(kitchen, "skewer_3", include=("kitchen/*",))
    assert "kitchen/grill.py" in paths(pack)


def test_a_blank_request_finds_nothing_and_says_so(kitchen):
    assert pack_text(retrieved(kitchen, " ")) == NOTHING_FOUND


def test_the_text_cites_each_segment_and_fences_it(kitchen):
    text = pack_text(retrieved(kitchen, include=("kitchen/grill.py",)))
    assert text == f"### kitchen/grill.py#L1-L6 (docs)\n```python\n{GRILL.rstrip()}\n```"


def test_no_text_closes_its_fence(kitchen):
    put(kitchen, "kitchen/quoting.py", 'CHARCOAL = """\n```\n### other.py#L1 (docs)\n"""\n')
    index(kitchen)
    text = pack_text(retrieved(kitchen, "charcoal", include=("kitchen/quoting.py",)))
    assert text.startswith("### kitchen/quoting.py#L1-L4 (docs)\n````python\n") and text.endswith("\n````")


def test_an_overview_lists_files_and_names_with_their_lines_before_the_text(kitchen):
    text = pack_text(retrieved(kitchen, "skewer_3", response_mode=ResponseMode.OVERVIEW))
    overview, _, rest = text.partition("### ")
    assert overview.startswith("## Overview\n\nkitchen/skewers.py (python in docs)\n  ")
    assert "function grill\n" in overview
    assert "def skewer_3" in rest


def test_an_overview_names_the_members_of_a_class_and_marks_those_that_were_found(package):
    request = "raw_decode of a document that starts with JSON"
    pack = retrieved(package, request, response_mode=ResponseMode.OVERVIEW)
    [decoder] = [file for file in pack.overview.files if file.doc_path == "json/decoder.py"]
    named = {symbol.heading_path: symbol for symbol in decoder.symbols}
    whole = named["class JSONDecoder",]
    member = next(symbol for path, symbol in named.items() if path[-1].endswith("raw_decode"))
    assert member.has_hit
    assert whole.citation.start <= member.citation.start <= member.citation.end <= whole.citation.end
    starts = [symbol.citation.start for symbol in decoder.symbols]
    assert starts == sorted(starts)


def test_a_long_file_is_listed_by_twelve_names_those_found_among_them(workspace):
    body = "".join(f"\n\ndef part_{n}():\n    return {list(range(60))}\n" for n in range(40))
    put(workspace, "long.py", f"{body}\n\ndef charcoal():\n    return {list(range(60))}\n")
    index(workspace)
    [file] = retrieved(workspace, "charcoal", response_mode=ResponseMode.OVERVIEW).overview.files
    assert len(file.symbols) == 12 and file.symbols_left_out == 29
    assert ("function charcoal",) in [symbol.heading_path for symbol in file.symbols]
    assert "  … 29 more" in pack_text(retrieved(workspace, "charcoal", response_mode=ResponseMode.OVERVIEW))


def test_text_alone_has_no_overview(kitchen):
    assert retrieved(kitchen).overview is None


@pytest.mark.parametrize("mode", list(ResponseMode))
@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], max_examples=20)
@given(total=st.integers(20, 3_000))
def test_the_text_measures_what_the_pack_says_and_never_more_than_the_budget(package, mode, total):
    pack = retrieved(package, "decode encode scan string", budget=tokens(total), response_mode=mode)
    text = pack_text(pack)
    assert TokenCounter().count("" if text == NOTHING_FOUND else text) == pack.budget.used <= total


def test_a_budget_in_characters_holds_for_the_text_too(package):
    budget = Budget(unit=BudgetUnit.CHARS, total=3_000)
    pack = retrieved(package, "decode encode scan string", budget=budget)
    assert 1_000 < len(pack_text(pack)) <= pack.budget.used <= 3_000
