"""Clients against a whole stack: upload, wait, search, next page, answer."""

import asyncio
import importlib
import subprocess
import sys
from io import BytesIO

import httpx
import pytest

from kebab_client import AsyncClient, Client, KebabError

pytestmark = pytest.mark.slow

DOCUMENTS = {
    "leave.md": "# Leave\n\nAnnual leave is thirty days.\n",
    "sick.md": "# Sick leave\n\nSick leave needs a note of a doctor.\n",
}
QUESTION = "How many days of annual leave?"


@pytest.fixture
def workspace(make_client):
    """Return a workspace's slug and a token."""
    client = make_client()
    return client.slug, client.token


def test_python_client_uploads_searches_and_asks(stack, workspace):
    slug, token = workspace
    with Client(stack.url, token) as kebab:
        leave = kebab.upload(slug, "leave.md", DOCUMENTS["leave.md"], wait=True, tags=["hr"])
        assert leave["seq"] is not None
        sick = kebab.upload(slug, "sick.md", DOCUMENTS["sick.md"].encode(), metadata={"year": 2026})
        kebab.wait_for_job(slug, sick["job"]["id"])
        hits = list(kebab.search_hits(slug, "leave", k=1, min_seq=leave["seq"]))
        assert {hit["doc_path"] for hit in hits} == set(DOCUMENTS)
        several = kebab.search_several("leave", workspaces=[slug])
        assert len(several["hits"]) == 2
        document = kebab.document(slug, sick["document"]["id"])
        assert document["metadata"]["year"] == 2026
        assert kebab.content(slug, document["id"]) == DOCUMENTS["sick.md"].encode()
        assert [chunk["doc_id"] for chunk in kebab.chunks(slug, document["id"])] == [document["id"]]
        answer = kebab.ask(slug, QUESTION)
        assert answer["citations"][0]["citation"]["path"] == "leave.md"
        assert kebab.suggest(slug, "lea")["suggestions"]
        assert kebab.context_pack(slug, QUESTION)["files"]
        with pytest.raises(KebabError) as raised:
            kebab.search(slug, "leave", k=-1)
        assert (raised.value.status, raised.value.code) == (400, "invalid_query")
        kebab.delete_document(slug, document["id"])
        assert [each["path"] for each in kebab.documents(slug)] == ["leave.md"]


def test_async_client_searches(stack, workspace):
    slug, token = workspace

    async def upload_and_search():
        async with AsyncClient(stack.url, token) as kebab:
            texts = [{"path": path, "text": text} for path, text in DOCUMENTS.items()]
            for result in await kebab.upload_many(slug, texts):
                await kebab.wait_for_job(slug, result["accepted"]["job"]["id"])
            return [hit["doc_path"] async for hit in kebab.search_hits(slug, "leave", k=1)]

    assert set(asyncio.run(upload_and_search())) == set(DOCUMENTS)


@pytest.fixture
def generated_client(stack, tmp_path, monkeypatch):
    """Generate a package with openapi-python-client, and return its name."""
    schema, config = tmp_path / "schema.json", tmp_path / "config.yaml"
    config.write_text("post_hooks: []")
    schema.write_bytes(httpx.get(f"{stack.url}/api/schema/?format=json", timeout=60).content)
    command = [
        *(sys.executable, "-m", "openapi_python_client", "generate", "--fail-on-warning"),
        *("--path", str(schema), "--config", str(config)),
        *("--meta", "none", "--output-path", str(tmp_path / "generated_kebab")),
    ]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    monkeypatch.syspath_prepend(tmp_path)
    return "generated_kebab"


def test_client_of_openapi_python_client_uploads_searches_and_asks(stack, workspace, generated_client):
    def load(name):
        return importlib.import_module(f"{generated_client}.{name}")

    slug, token = workspace
    models, files = load("models"), load("types")
    upload, get_job = load("api.documents.document_file_post"), load("api.jobs.one_job_get")
    search, ask = load("api.search.search_post"), load("api.ask.ask_post")

    with load("client").AuthenticatedClient(stack.url, token, raise_on_unexpected_status=True) as client:
        for name, text in DOCUMENTS.items():
            file = files.File(BytesIO(text.encode()), name)
            job = upload.sync(slug, client=client, body=models.NewFileRequest(file)).job
            while job.state in ("queued", "running"):
                job = get_job.sync(slug, job.id, client=client)
            assert job.state == "succeeded"
        first = search.sync(slug, client=client, body=models.SearchBodyRequest(q="leave", k=1))
        following = models.SearchBodyRequest(cursor=first.next_cursor)
        second = search.sync(slug, client=client, body=following)
        assert {hit.citation.path for hit in (*first.hits, *second.hits)} == set(DOCUMENTS)
        answer = ask.sync(slug, client=client, body=models.AskBodyRequest(QUESTION))
        assert answer.citations[0].citation.path == "leave.md"
