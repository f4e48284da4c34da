"""The types of the Python client have the fields that the OpenAPI document has."""

import pytest

from kebab_client import types

RESULTS = {
    "Workspace": "Workspace",
    "Citation": "Citation",
    "Hit": "SearchHit",
    "SearchResponse": "SearchResponse",
    "WorkspaceHit": "WorkspaceHit",
    "SeveralResponse": "SeveralResponse",
    "Suggestions": "SuggestResponse",
    "Document": "Document",
    "Chunk": "Chunk",
    "Job": "ReportedJob",
    "PlacedDocument": "PlacedDocument",
    "Accepted": "Accepted",
    "BulkResult": "BulkDocumentResult",
    "AnswerCitation": "AnswerCitation",
    "Answer": "Answer",
    "ContextPack": "ContextPack",
}
#: Bodies, and their fields that are arguments of methods.
BODIES = {
    "Filters": ("FilterFieldsRequest", set()),
    "AskOptions": ("AskBodyRequest", {"question"}),
    "SearchOptions": ("SearchBodyRequest", {"q", "cursor", "fields"}),
    "SeveralOptions": ("SeveralBodyRequest", {"q"}),
    "ContextOptions": ("ContextPackBodyRequest", {"information_request"}),
    "NewText": ("NewTextRequest", set()),
}


@pytest.fixture
def schemas(reader):
    return reader.get("/api/schema/?format=json").json()["components"]["schemas"]


def test_types_have_the_fields_of_the_document(schemas, subtests):
    for name, component in RESULTS.items():
        with subtests.test(name=name):
            assert set(getattr(types, name).__annotations__) == set(schemas[component]["properties"])
    for name, (component, arguments) in BODIES.items():
        with subtests.test(name=name):
            assert (
                set(getattr(types, name).__annotations__) == set(schemas[component]["properties"]) - arguments
            )
