"""Typed queries on the documents of the demonstration find the right document first."""

import pytest

from ingest.cli.demo.people import EXAMPLES
from tests.drills.evaluation.handbook import Query, ask_queries, query_lines

TYPED = {
    "vpn": "handbook/it/vpn.md",
    "budget sail loft Q3": "handbook/finance/budget-2026.xlsx",
    "season plan": "handbook/sales/season-plan-2026.pptx",
    "launch of the Kestrel 60": "handbook/sales/season-plan-2026.pptx",
    "broken strand shroud": "handbook/production/rigging-inspection.pdf",
    "business trip checklist": "handbook/people/business-trip-checklist.docx",
    "Why does the Kestrel 46 grind after service?": "handbook/mail/kestrel-46-grinding.eml",
    "peak_load": "handbook/engineering/winch-load.ipynb",
    "How do I undo a bad release of Tideboard?": "handbook/engineering/deploying-tideboard.md",
    "Resturlaub": "handbook/de/urlaub.md",
    "comment se faire rembourser un repas ?": "handbook/fr/notes-de-frais.md",
    "celery task queue": "packages/celery.rst",
    "numpy": "packages/numpy.md",
    "progress bar in the terminal": "packages/tqdm.rst",
}


@pytest.mark.slow
@pytest.mark.django_db
def test_typed_queries_and_examples_find_their_documents_first(demo_workspace):
    queries = [Query(kind="demo", text=text, paths=(path,)) for text, path in (EXAMPLES | TYPED).items()]
    results = ask_queries(demo_workspace, queries)
    assert [each for each in results if not each.is_found(1)] == [], "\n".join(query_lines(results))
