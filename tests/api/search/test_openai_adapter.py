"""OpenAI's vector stores and files, through OpenAI's own client."""

import httpx
import openai
import pytest

from ingest.api.adapters import openai_files
from ingest.models import OPEN_STATES, Job, JobState
from kebab.identity.models import Membership, Role
from kebab.identity.tokens import mint_personal_token, mint_token
from kebab.wsgi import application
from search.models import Document
from tests.api.guides import LEAVE, RESTART, make_guides
from tests.support.actors import make_member, make_workspace
from tests.support.jobs import work
from tests.support.search import sync

pytestmark = pytest.mark.django_db(transaction=True)


@pytest.fixture
def workspace():
    return make_guides()


@pytest.fixture
def sdk(workspace):
    with client_of(mint_token(workspace, scopes=["search"])[1]) as client:
        yield client


def client_of(secret):
    return openai.OpenAI(
        base_url="http://testserver/api/v1/openai",
        api_key=secret,
        max_retries=0,
        http_client=httpx.Client(transport=httpx.WSGITransport(app=application)),
    )


def filenames(page):
    return sorted(result.filename for result in page)


def test_openai_client_searches_a_store(sdk, workspace):
    assert [store.id for store in sdk.vector_stores.list()] == [workspace.slug]
    assert sdk.vector_stores.retrieve(workspace.slug).name == workspace.name
    first, *_ = sdk.vector_stores.search(workspace.slug, query=["restart", "workers"])
    assert first.filename == RESTART
    assert first.file_id.startswith("file-")
    assert first.content[0].text == "Restart the workers with care."
    assert (first.attributes["team"], first.attributes["year"]) == ("ops", 2024)
    assert len(list(sdk.vector_stores.search(workspace.slug, query="workers", max_num_results=1))) == 1
    high = {"score_threshold": 1.0}
    assert filenames(sdk.vector_stores.search(workspace.slug, query="workers", ranking_options=high)) == []


def test_openai_client_narrows_by_attributes(sdk, workspace, subtests):
    def comparison(type_, key, value):
        return {"type": type_, "key": key, "value": value}

    ops, late = comparison("eq", "team", "ops"), comparison("gte", "year", 2022)
    hr = comparison("eq", "team", "hr")
    both = {"type": "and", "filters": [ops, late]}
    for filters, expected in (
        (ops, [RESTART]),
        (comparison("ne", "team", "ops"), [LEAVE]),
        (comparison("eq", "year", "2024"), [RESTART]),
        (comparison("eq", "title", "restart"), [RESTART]),
        (comparison("ne", "author", "Ada"), [LEAVE]),
        (comparison("in", "filename", [RESTART]), [RESTART]),
        (comparison("in", "team", ["ops", "dev"]), [RESTART]),
        (comparison("nin", "team", ["ops", "dev"]), [LEAVE]),
        (both, [RESTART]),
        ({"type": "and", "filters": [hr, late]}, []),
        ({"type": "or", "filters": [hr, both]}, [LEAVE, RESTART]),
    ):
        with subtests.test(filters=filters):
            page = sdk.vector_stores.search(workspace.slug, query="workers", filters=filters)
            assert filenames(page) == expected


def test_openai_client_gets_its_own_errors(sdk, workspace):
    with pytest.raises(openai.NotFoundError):
        sdk.vector_stores.search("missing", query="workers")
    wrong = {"type": "like", "key": "team", "value": "o"}
    with pytest.raises(openai.BadRequestError, match="type"):
        sdk.vector_stores.search(workspace.slug, query="workers", filters=wrong)
    sdk.api_key = "wrong"
    with pytest.raises(openai.AuthenticationError):
        sdk.vector_stores.list()


@pytest.fixture
def uploader(workspace):
    secret = mint_token(workspace, scopes=["search", "ingest"])[1]
    with client_of(secret) as client:
        yield client


def run_jobs(workspace):
    for job in Job.objects.in_workspace(workspace).filter(state__in=OPEN_STATES).order_by("created_at"):
        work(job)


def test_openai_client_uploads_attaches_searches_and_deletes(uploader, workspace):
    store = workspace.slug
    file = uploader.files.create(file=("pump.md", b"# Pump\n\nOil the pump weekly.\n"), purpose="assistants")
    assert (file.filename, file.bytes, file.status) == ("pump.md", 29, "uploaded")
    attached = uploader.vector_stores.files.create(store, file_id=file.id, attributes={"team": "ops"})
    assert (attached.id, attached.status, attached.attributes) == (file.id, "in_progress", {"team": "ops"})

    run_jobs(workspace)
    sync(workspace)
    polled = uploader.vector_stores.files.poll(file.id, vector_store_id=store)
    assert (polled.status, polled.last_error, polled.attributes) == ("completed", None, {"team": "ops"})
    assert uploader.files.retrieve(file.id).status == "processed"
    ops = {"type": "eq", "key": "team", "value": "ops"}
    found = next(iter(uploader.vector_stores.search(store, query="oil pump", filters=ops)))
    assert (found.file_id, found.filename) == (file.id, "pump.md")

    assert uploader.vector_stores.files.delete(file.id, vector_store_id=store).deleted
    sync(workspace)
    assert filenames(uploader.vector_stores.search(store, query="oil pump")) == []
    assert uploader.files.delete(file.id).deleted
    with pytest.raises(openai.NotFoundError):
        uploader.files.retrieve(file.id)


def delete_file(client, file_id):
    return client.files.delete(file_id)


def detach_file(client, file_id):
    store = client.vector_stores.list().data[0].id
    return client.vector_stores.files.delete(file_id, vector_store_id=store)


@pytest.mark.parametrize("delete", [delete_file, detach_file])
def test_deleted_file_whose_upload_waits_is_never_published(uploader, workspace, delete):
    file = uploader.files.create(file=("a.md", b"# A\n"), purpose="assistants")
    uploader.vector_stores.files.create(workspace.slug, file_id=file.id, attributes={"team": "ops"})
    assert delete(uploader, file.id).deleted
    with pytest.raises(openai.NotFoundError):
        uploader.files.retrieve(file.id)

    run_jobs(workspace)
    assert not Document.objects.in_workspace(workspace).filter(path="a.md").exists()
    uploads = Job.objects.in_workspace(workspace).filter(payload__path="a.md")
    assert set(uploads.values_list("state", flat=True)) == {JobState.CANCELLED}
    with pytest.raises(openai.NotFoundError):
        uploader.files.retrieve(file.id)

    again = uploader.files.create(file=("a.md", b"# A\n"), purpose="assistants")
    run_jobs(workspace)
    assert (again.id, uploader.files.retrieve(file.id).status) == (file.id, "processed")


def test_file_published_before_its_cancellation_is_deleted(uploader, workspace, monkeypatch):
    cancel_uploads = openai_files.cancel_uploads

    def cancel_late(*args):
        run_jobs(workspace)
        cancel_uploads(*args)

    monkeypatch.setattr(openai_files, "cancel_uploads", cancel_late)
    file = uploader.files.create(file=("a.md", b"# A\n"), purpose="assistants")
    assert uploader.files.delete(file.id).deleted
    assert not Document.objects.in_workspace(workspace).filter(path="a.md").exists()


def test_file_is_found_behind_many_later_uploads(uploader, workspace):
    file = uploader.files.create(file=("a.md", b"# A\n"), purpose="assistants")
    first = Job.objects.in_workspace(workspace).get(payload__path="a.md")
    given = {"workspace": workspace, "kind": first.kind, "source": first.source}
    Job.objects.bulk_create(
        Job(**given, payload={**first.payload, "path": f"{n}.md", "doc_id": f"{n:032x}"})
        for n in range(1_001)
    )
    assert uploader.files.retrieve(file.id).status == "uploaded"


def test_attributes_have_the_limits_of_openai(uploader, workspace, subtests):
    file = uploader.files.create(file=("a.md", b"# A\n"), purpose="assistants")
    for attributes in (
        {str(n): n for n in range(17)},
        {"k" * 65: "v"},
        {"k": "v" * 513},
        {"k": ["v"]},
        {"k": {"v": 1}},
    ):
        with subtests.test(attributes=attributes), pytest.raises(openai.BadRequestError, match="at most 16"):
            uploader.vector_stores.files.create(workspace.slug, file_id=file.id, attributes=attributes)
    full = {"k" * 64: "v" * 512, "n": 1.5, "b": True, **{str(n): n for n in range(13)}}
    attached = uploader.vector_stores.files.create(workspace.slug, file_id=file.id, attributes=full)
    assert attached.attributes == full


def test_openai_client_is_told_why_a_file_fails(uploader, workspace):
    file = uploader.files.create(file=("a.bin", bytes(range(256)) * 20), purpose="assistants")
    run_jobs(workspace)
    failed = uploader.vector_stores.files.create_and_poll(file.id, vector_store_id=workspace.slug)
    assert (failed.status, failed.last_error.code) == ("failed", "unsupported_file")
    with pytest.raises(openai.NotFoundError):
        uploader.vector_stores.files.retrieve("file-x", vector_store_id=workspace.slug)


def test_openai_client_with_several_workspaces_names_one(workspace):
    person, other = make_member(workspace, Role.EDITOR), make_workspace()
    Membership.objects.create(workspace=other, user=person, role=Role.EDITOR)
    with client_of(mint_personal_token(person, scopes=["search", "ingest"])[1]) as client:
        with pytest.raises(openai.BadRequestError, match="OpenAI-Project"):
            client.files.create(file=("a.md", b"# A\n"), purpose="assistants")
        chosen = client.with_options(project=other.slug)
        file = chosen.files.create(file=("a.md", b"# A\n"), purpose="assistants")
        run_jobs(other)
        stored = chosen.vector_stores.files.retrieve(file.id, vector_store_id=other.slug)
        assert stored.status == "completed"
        with pytest.raises(openai.NotFoundError):
            client.vector_stores.files.retrieve(file.id, vector_store_id=workspace.slug)


def test_openai_client_pages_through_stores(workspace, subtests):
    person, stores = make_member(workspace, Role.VIEWER), [workspace.slug]
    for _ in range(50):
        other = make_workspace()
        Membership.objects.create(workspace=other, user=person, role=Role.VIEWER)
        stores.append(other.slug)
    newest = stores[::-1]
    with client_of(mint_personal_token(person, scopes=["search"])[1]) as client:
        assert [store.id for store in client.vector_stores.list()] == newest
        for given, expected, has_more in (
            ({}, newest[:20], True),
            ({"limit": 100}, newest, False),
            ({"limit": 2, "order": "asc"}, stores[:2], True),
            ({"limit": 2, "order": "asc", "after": stores[48]}, stores[49:], False),
            ({"limit": 2, "order": "asc", "before": stores[5]}, stores[3:5], True),
            ({"limit": 2, "order": "asc", "before": stores[2]}, stores[:2], False),
            ({"limit": 2, "order": "asc", "after": stores[0], "before": stores[4]}, stores[1:3], True),
            ({"after": newest[-1]}, [], False),
        ):
            with subtests.test(given=given):
                page = client.vector_stores.list(**given)
                assert [store.id for store in page.data] == expected
                ends = (expected[0], expected[-1]) if expected else (None, None)
                assert (page.has_more, page.first_id, page.last_id) == (has_more, *ends)
        for wrong in ({"limit": 0}, {"limit": 101}, {"order": "up"}, {"after": "missing"}):
            with subtests.test(wrong=wrong), pytest.raises(openai.BadRequestError, match=next(iter(wrong))):
                client.vector_stores.list(**wrong)


def upload(client, name, text="# A\n"):
    return client.files.create(file=(name, text.encode()), purpose="assistants")


def test_openai_client_lists_and_reads_files(uploader, workspace, subtests):
    assert [file.filename for file in uploader.files.list(order="asc")] == [RESTART, LEAVE]
    done = upload(uploader, "done.md", "# Done\n\nOil the pump.\n")
    failed = uploader.files.create(file=("a.bin", bytes(range(256)) * 20), purpose="assistants")
    run_jobs(workspace)
    waiting = upload(uploader, "waiting.md")
    listed = list(uploader.files.list(order="asc"))
    assert [(file.filename, file.status) for file in listed] == [
        (RESTART, "processed"),
        (LEAVE, "processed"),
        ("a.bin", "error"),
        ("done.md", "processed"),
        ("waiting.md", "uploaded"),
    ]
    upload(uploader, "done.md", "# Done\n\nOil the pump.\n")
    assert [file.id for file in uploader.files.list(limit=2)] == [file.id for file in listed[::-1]]
    assert list(uploader.files.list(purpose="fine-tune")) == []
    ids = [file.id for file in listed]
    for given, expected in (
        ({"limit": 2}, ids[::-1][:2]),
        ({"order": "asc", "after": failed.id, "limit": 2}, ids[3:5]),
        ({"order": "asc", "before": waiting.id, "limit": 2}, ids[2:4]),
        ({"after": done.id}, ids[2::-1]),
        ({"filter": "failed"}, [failed.id]),
        ({"filter": "in_progress"}, [waiting.id, done.id]),
        ({"filter": "completed", "order": "asc"}, ids[:2]),
        ({"filter": "cancelled"}, []),
    ):
        with subtests.test(given=given):
            page = uploader.vector_stores.files.list(workspace.slug, **given)
            assert [file.id for file in page.data] == expected
    counts = uploader.vector_stores.retrieve(workspace.slug)
    assert counts.file_counts.to_dict() == {
        "in_progress": 2,
        "completed": 2,
        "failed": 1,
        "cancelled": 0,
        "total": 5,
    }
    assert (counts.status, counts.usage_bytes > 0) == ("in_progress", True)
    run_jobs(workspace)
    (store,) = uploader.vector_stores.list()
    assert (store.status, store.file_counts.completed, store.file_counts.total) == ("completed", 4, 5)
    assert uploader.files.content(done.id).text == "# Done\n\nOil the pump.\n"
    (text,) = uploader.vector_stores.files.content(done.id, vector_store_id=workspace.slug)
    assert "Oil the pump." in text.text
    for read in (uploader.files.content, uploader.files.retrieve):
        with pytest.raises(openai.NotFoundError):
            read("file-" + "0" * 32)


def test_openai_client_updates_attributes_and_the_name_of_a_store(uploader, workspace):
    file = upload(uploader, "a.md")
    run_jobs(workspace)
    store = workspace.slug
    updated = uploader.vector_stores.files.update(file.id, vector_store_id=store, attributes={"team": "hr"})
    assert updated.attributes == {"team": "hr"}
    run_jobs(workspace)
    assert uploader.vector_stores.files.retrieve(file.id, vector_store_id=store).attributes == {"team": "hr"}
    with pytest.raises(openai.PermissionDeniedError):
        uploader.vector_stores.update(store, name="Pumps")
    with client_of(mint_token(workspace, scopes=["search", "manage"])[1]) as manager:
        assert manager.vector_stores.update(store, name="Pumps").name == "Pumps"
        assert manager.vector_stores.retrieve(store).name == "Pumps"
        with pytest.raises(openai.BadRequestError, match="metadata"):
            manager.vector_stores.update(store, metadata={"a": "b"})


def test_openai_client_attaches_files_in_batches(uploader, workspace):
    store, batches = workspace.slug, uploader.vector_stores.file_batches
    files = [upload(uploader, name) for name in ("a.md", "b.md", "c.md")]
    ids = [file.id for file in files]
    batch = batches.create(store, file_ids=ids[:2], attributes={"team": "ops"})
    assert (batch.status, batch.file_counts.in_progress, batch.file_counts.total) == ("in_progress", 2, 2)
    run_jobs(workspace)
    ended = batches.retrieve(batch.id, vector_store_id=store)
    assert (ended.status, ended.file_counts.completed) == ("completed", 2)
    assert ended.created_at == batch.created_at
    listed = batches.list_files(batch.id, vector_store_id=store, order="asc", filter="completed")
    assert [file.id for file in listed] == ids[:2]
    assert {file.attributes["team"] for file in listed} == {"ops"}
    later = batches.list_files(batch.id, vector_store_id=store, order="asc", after=ids[0])
    assert [file.id for file in later] == [ids[1]]

    given = [{"file_id": upload(uploader, "d.md").id, "attributes": {"team": "hr"}}]
    waiting = batches.create(store, files=given)
    cancelled = batches.cancel(waiting.id, vector_store_id=store)
    assert (cancelled.status, cancelled.file_counts.cancelled) == ("cancelled", 1)
    for wrong in ({"file_ids": []}, {"file_ids": [f"file-{n:032x}" for n in range(101)]}):
        with pytest.raises(openai.BadRequestError, match="1 to 100"):
            batches.create(store, **wrong)
    for wrong in ("vsfb_", "vsfb_x", "vsfb_" + "A" * 40, "x"):
        with pytest.raises(openai.NotFoundError):
            batches.retrieve(wrong, vector_store_id=store)


def test_openai_client_is_told_what_to_use_instead_of_other_calls(uploader, workspace, subtests):
    for call, remedy in (
        (lambda: uploader.vector_stores.create(name="new"), "kebab workspace create"),
        (lambda: uploader.vector_stores.delete(workspace.slug), "its owner"),
        (lambda: uploader.models.list(), "It offers files"),
        (lambda: uploader.embeddings.create(model="m", input="a"), "It offers files"),
        (lambda: uploader.responses.create(model="m", input="a"), "It offers files"),
        (lambda: uploader.chat.completions.create(model="m", messages=[]), "It offers files"),
    ):
        with subtests.test(remedy=remedy), pytest.raises(openai.NotFoundError, match=remedy):
            call()


def test_openai_client_without_the_scope_of_ingestion_reads_files(sdk, workspace):
    first, _ = sdk.files.list(order="asc")
    assert sdk.vector_stores.files.list(workspace.slug).data[-1].id == first.id
    assert (
        "Restart"
        in next(iter(sdk.vector_stores.files.content(first.id, vector_store_id=workspace.slug))).text
    )
    with pytest.raises(openai.PermissionDeniedError):
        sdk.vector_stores.file_batches.create(workspace.slug, file_ids=[first.id])
