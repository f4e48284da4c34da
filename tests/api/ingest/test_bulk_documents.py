"""Many documents in one request: each has a result of its own."""

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext

from ingest.models import Job
from kebab.identity.models import Workspace
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


def upload(client, workspace, *documents):
    """Upload documents and return their job."""
    results = post_bulk(client, workspace, documents).json()["results"]
    (job_id,) = {result["accepted"]["job"]["id"] for result in results}
    return Job.objects.in_workspace(workspace).get(pk=job_id)


def titles(workspace):
    return dict(Document.objects.in_workspace(workspace).values_list("path", "title"))


def test_documents_of_one_version_are_one_job_and_one_activity(client, workspace):
    versions = ("", "", "", "v2", "v2")
    documents = [
        {"path": f"{n}.md", "text": f"{n}", "version": version} for n, version in enumerate(versions)
    ]
    results = post_bulk(client, workspace, documents).json()["results"]
    first, *others = (result["accepted"]["job"]["id"] for result in results)
    assert others[:2] == [first, first] and others[2] == others[3] != first
    assert str(Job.objects.get(pk=others[3]).batch) == first


def test_documents_cost_no_statements_of_their_own(client, workspace):
    upload(client, workspace, {"path": "a.md", "text": "a"}, {"path": "b.md", "text": "b"})
    counts = []
    for number in (5, 50):
        with CaptureQueriesContext(connection) as statements:
            upload(client, workspace, *({"path": f"{n}.md", "text": f"{number} {n}"} for n in range(number)))
        counts.append(len(statements))
    assert counts[0] == counts[1]


def test_of_documents_of_one_path_the_last_counts(client, workspace):
    first = {"path": "a.md", "text": "one", "title": "First", "metadata": {"year": 1}}
    run_to_end(upload(client, workspace, first, {"path": "a.md", "text": "two", "title": "Last"}))
    (document,) = Document.objects.in_workspace(workspace)
    assert (document.size_bytes, document.title) == (3, "Last")
    assert document.filter_values == filter_values({"year": 1})


def test_change_of_a_waiting_document_keeps_its_new_text(client, workspace):
    run_to_end(upload(client, workspace, *({"path": f"{name}.md", "text": "old"} for name in "ab")))
    waiting = upload(client, workspace, *({"path": f"{name}.md", "text": "newer"} for name in "ab"))
    document = Document.objects.in_workspace(workspace).get(path="a.md")
    change = client.patch(
        address(workspace, f"/documents/{document.doc_id.hex}"), {"title": "Changed"}, format="json"
    )
    for job in (Job.objects.get(pk=change.json()["job"]["id"]), waiting):
        assert run_to_end(job).state == "succeeded"
    document.refresh_from_db()
    assert (document.title, document.size_bytes) == ("Changed", len("newer"))


def test_document_deleted_while_its_upload_waits_stays_deleted(client, workspace):
    run_to_end(upload(client, workspace, *({"path": f"{name}.md", "text": "old"} for name in "ab")))
    waiting = upload(client, workspace, *({"path": f"{name}.md", "text": "new"} for name in "ab"))
    document = Document.objects.in_workspace(workspace).get(path="a.md")
    assert client.delete(address(workspace, f"/documents/{document.doc_id.hex}")).status_code == 204
    assert run_to_end(waiting).state == "succeeded"
    assert list(titles(workspace)) == ["b.md"]


def test_cancelled_bulk_is_retried_with_what_was_stated(client, workspace):
    job = upload(client, workspace, *({"path": f"{name}.md", "text": "a", "title": name} for name in "ab"))
    client.post(address(workspace, f"/jobs/{job.pk}/cancel"))
    again = client.post(address(workspace, f"/jobs/{job.pk}/retry")).json()["job"]["id"]
    assert run_to_end(Job.objects.get(pk=again)).state == "succeeded"
    assert titles(workspace) == {"a.md": "a", "b.md": "b"}


def test_refused_documents_are_problems_of_their_own_when_waited_for(client, workspace, monkeypatch):
    monkeypatch.setattr(
        "ingest.api.documents.bulk.wait_until_searchable", lambda job, limit_s: run_to_end(job)
    )
    documents = [{"path": "a.md", "text": "one"}, {"path": "b.pub", "text": "\x01" * 99}]
    good, bad = post_bulk(client, workspace, documents, "?wait_for=searchable").json()["results"]
    assert good["accepted"]["seq"] > 0
    assert (bad["problem"]["code"], "b.pub" in bad["problem"]["detail"]) == ("not_ingested", True)


def test_documents_above_the_quota_are_refused_one_by_one(client, workspace):
    Workspace.objects.filter(pk=workspace.pk).update(quota={"documents": 2})
    results = post_bulk(client, workspace, [{"path": f"{name}.md", "text": name} for name in "abc"]).json()[
        "results"
    ]
    assert [result["problem"] and result["problem"]["code"] for result in results] == [
        None,
        None,
        "over_quota",
    ]


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
