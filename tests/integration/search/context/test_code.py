"""Code by file: selection, filters, and the text for agents."""

import pytest

from kebab.identity.reader import Reader
from search.context import CodeRequest, ResponseMode, pack_text, retrieve_code
from search.context.overview import NOTHING_FOUND
from search.models import Source
from search.retrieval.errors import InvalidFilter
from tests.integration.search.context.workspace_files import index, put_file

SKEWERS = "".join(f"\n\ndef skewer_{n}(meat):\n    return grill(meat, {n})\n" for n in range(8))
GRILL = '''"""Heat."""


def grill(meat, minutes):
    """Grill a skewer over charcoal."""
    return meat, minutes
'''
QUOTING = 'COAL = """\n```\n### other.py#L1 (docs)\n"""\n'
KITCHEN = {
    "kitchen/grill.py": GRILL,
    "kitchen/skewers.py": f"from kitchen.grill import grill\n{SKEWERS}",
    "tests/test_grill.py": "def test_grill_skewer_over_charcoal():\n    assert grill(1, 2)\n",
    "web/grill.ts": "export function grill(skewer: string) {\n  return skewer;\n}\n",
    "docs/grill.md": "# Grill\n\nHow a skewer is grilled over charcoal.\n",
}


def fill(workspace):
    for path, text in KITCHEN.items():
        put_file(workspace, path, text)


def retrieve(workspace, request="grill a skewer over charcoal", *, source=("docs",), **fields):
    asked = CodeRequest(information_request=request, source=source, **fields)
    return retrieve_code(workspace, Reader(), asked)


def paths(pack):
    return [file.doc_path for file in pack.files]


def test_code_comes_before_its_tests_and_its_manual_unless_tests_are_asked_for(filled):
    found = paths(retrieve(filled))
    assert found[0] == "kitchen/grill.py"
    assert found.index("kitchen/skewers.py") < found.index("tests/test_grill.py")
    assert paths(retrieve(filled, "test that a skewer is grilled over charcoal"))[0] == "tests/test_grill.py"


def test_patterns_languages_and_sources_narrow_the_files(filled):
    assert paths(retrieve(filled, include=("kitchen/*.py",))) == ["kitchen/grill.py", "kitchen/skewers.py"]
    excluded = ("tests/**", "docs/**", "**/grill.*")
    assert paths(retrieve(filled, "skewer_3", exclude=excluded)) == ["kitchen/skewers.py"]
    assert paths(retrieve(filled, include=("*.ts",))) == ["web/grill.ts"]
    assert "tests/test_grill.py" not in paths(retrieve(filled, exclude=("tests/",)))
    for name in ("typescript", "ts", "TSX"):
        assert paths(retrieve(filled, languages=(name,))) == ["web/grill.ts"]
    assert paths(retrieve(filled, source=("other",))) == []
    with pytest.raises(InvalidFilter, match="abc"):
        retrieve(filled, exclude=("[abc",))


def test_restricted_sources_and_other_workspaces_are_not_in_the_pack(workspace, other_workspace):
    put_file(workspace, "kitchen/grill.py", GRILL)
    put_file(workspace, "secret/grill.py", GRILL, source="secret")
    put_file(other_workspace, "theirs/grill.py", GRILL)
    index(workspace)
    index(other_workspace)
    Source.objects.in_workspace(workspace).filter(key="secret").update(is_restricted=True)
    for mode in ResponseMode:
        text = pack_text(retrieve(workspace, source=(), technical_terms=("grill",), response_mode=mode))
        assert "kitchen" in text and "secret" not in text and "theirs" not in text
    assert retrieve(workspace, source=("secret",)).files == ()


def test_quotes_and_imports_lead_to_files(filled):
    found = paths(retrieve(filled, "in OR'", technical_terms=("'grill", "OR'")))
    assert found[0].endswith(("grill.py", "grill.ts"))
    assert "kitchen/grill.py" in paths(retrieve(filled, "skewer_3", include=("kitchen/*",)))
    assert pack_text(retrieve(filled, " ")) == NOTHING_FOUND


def test_text_cites_each_segment_in_a_fence(filled):
    text = pack_text(retrieve(filled, include=("kitchen/grill.py",)))
    assert text == f"### kitchen/grill.py#L1-L6 (docs)\n```python\n{GRILL.rstrip()}\n```"


def test_overview_lists_files_and_names_before_the_text(filled):
    assert retrieve(filled).overview is None
    text = pack_text(retrieve(filled, "skewer_3", response_mode=ResponseMode.OVERVIEW))
    overview, _, rest = text.partition("### ")
    assert overview.startswith("## Overview\n\nkitchen/skewers.py (python in docs)\n  ")
    assert "function grill\n" in overview
    assert "def skewer_3" in rest


def test_overview_lists_at_most_twelve_symbols_of_a_file(workspace):
    body = "".join(f"\n\ndef part_{n}():\n    return {list(range(60))}\n" for n in range(40))
    put_file(workspace, "long.py", f"{body}\n\ndef charcoal():\n    return {list(range(60))}\n")
    put_file(workspace, "quoting.py", QUOTING, source="quotes")
    index(workspace)
    pack = retrieve(workspace, "charcoal", response_mode=ResponseMode.OVERVIEW)
    [file] = pack.overview.files
    assert len(file.symbols) == 12 and file.symbols_left_out == 29
    assert ("function charcoal",) in [symbol.heading_path for symbol in file.symbols]
    assert "  … 29 more" in pack_text(pack)
    text = pack_text(retrieve(workspace, "COAL", source=("quotes",)))
    assert text == f"### quoting.py#L1-L4 (quotes)\n````python\n{QUOTING.rstrip()}\n````"
