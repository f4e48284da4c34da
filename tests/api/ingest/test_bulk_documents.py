"""Many documents in one request: each has a result of its own."""

import pytest

from ingest.models import Job
from search.models import Document
from search.retrieval.query.metadata import filter_values
from tests.api.refusals import refusal_of
from tests.support.actors import Role, member_client
from tests.support.api import address, run_to_end

pytestmark = pytest.mark.django_db(transaction=True)


def post_bulk(client, workspace, documents, query="", **options):
    path = address(workspace, f"/documents/bulk{query}")
    return client.post(path, {"documents": documents}, format="json", **options)


def test_each_document_is_accepted_or_refused_by_itself(client, workspace):
    response = post_bulk(
        client,
        workspace,
        [
            {"path": "a.md", "text": "one", "metadata": {"year": 2021}},
            {"path": "../b.md", "text": "two"},
            {"path": "c.md"},
            None,
            {"path": "d.md", "text": "four", "tags": ["x"]},
        ],
    )
    assert response.status_code == 200, response.content
    results = response.json()["results"]
    assert [result["accepted"] is not None for result in results] == [True, False, False, False, True]
    assert [result["problem"]["code"] for result in results[1:4]] == [
        "invalid_path",
        "invalid_request",
        "invalid_request",
    ]
    assert results[2]["problem"]["errors"][0]["field"] == "text"
    for job in Job.objects.in_workspace(workspace).order_by("created_at"):
        assert run_to_end(job).state == "succeeded"
    found = Document.objects.in_workspace(workspace).order_by("path")
    assert list(found.values_list("path", "tags")) == [("a.md", []), ("d.md", ["x"])]
    assert found[0].filter_values == filter_values({"year": 2021}) != {}


def test_bulk_upload_is_listed_as_one_activity(client, workspace):
    documents = [{"path": f"{name}.md", "text": name} for name in "abc"]
    results = post_bulk(client, workspace, documents).json()["results"]
    first, *others = (result["accepted"]["job"]["id"] for result in results)
    jobs = Job.objects.in_workspace(workspace).filter(pk__in=others)
    assert {str(batch) for batch in jobs.values_list("batch", flat=True)} == {first}


def test_bulk_with_a_key_is_done_once(client, workspace):
    headers = {"Idempotency-Key": "bulk-1"}
    first, again = (
        post_bulk(client, workspace, [{"path": "a.md", "text": "one"}], headers=headers) for _ in range(2)
    )
    assert again.headers["Idempotency-Replayed"] == "true"
    assert again.json() == first.json()
    assert Job.objects.in_workspace(workspace).count() == 1


def test_bulk_has_1_to_100_documents_and_an_editor(client, workspace):
    for documents in ([], [{"path": "a.md", "text": "a"}] * 101, "a"):
        assert refusal_of(post_bulk(client, workspace, documents))[:2] == (400, "invalid_request")
    viewer = member_client(workspace, Role.VIEWER)
    assert post_bulk(viewer, workspace, [{"path": "a.md", "text": "a"}]).status_code == 403
