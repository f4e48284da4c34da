"""Wording of the most frequent problems of the API, in one snapshot.

With KEBAB_WRITE_SNAPSHOTS=1 the test writes `wording.txt` anew.
"""

import os
from pathlib import Path

import pytest
from django.utils import timezone
from rest_framework.test import APIClient

from ingest.models import Job
from search.corpus import ensure_source
from search.models import Source
from tests.support.actors import bearer_client, token_client
from tests.support.api import address, post_text
from tests.support.corpus import write

pytestmark = pytest.mark.django_db(transaction=True)

SNAPSHOT = Path(__file__).with_name("wording.txt")


def problem_text(name, response):
    """Return a problem as text: what was asked, status and code, title, detail, and each field's message."""
    problem = response.json()
    lines = [
        f"# {name}",
        f"{problem['status']} {problem['code']}: {problem['title']}",
        problem.get("detail", ""),
    ]
    lines += [f"  {error['field']}: {error['message']}" for error in problem.get("errors", [])]
    return "\n".join(line for line in lines if line)


def test_wording_of_common_problems(client, workspace, settings):
    settings.KEBAB_FOLDER_ROOTS = []
    settings.KEBAB_UPLOAD_LIMIT_BYTES = 1_000
    ensure_source(workspace, "taken", kind="upload")
    document = write(workspace, "a.md", "text", source="folder")
    Source.objects.filter(key="folder").update(kind="folder", config={"path": "/docs"})
    job = Job.objects.create(workspace=workspace, kind="embed", state="succeeded", finished_at=timezone.now())
    search, sources = address(workspace, "/search"), address(workspace, "/sources")

    def get(**given):
        return client.get(search, given)

    def create(**fields):
        return client.post(sources, fields, format="json")

    ask_only = token_client(workspace, "ask")
    problems = {
        "no token": APIClient().get(search, {"q": "a"}),
        "wrong token": bearer_client("kbb_aaaaaaaaaaaa_" + "a" * 43).get(search, {"q": "a"}),
        "missing scope": ask_only.get(search, {"q": "a"}),
        "missing workspace": client.get("/api/v1/workspaces/nowhere/search", {"q": "a"}),
        "missing document": client.get(address(workspace, f"/documents/{'0' * 32}")),
        "missing address": client.get("/api/v1/nowhere"),
        "wrong method": client.put(search, {}, format="json"),
        "missing parameter": get(),
        "unknown parameter": get(q="a", colour="red"),
        "wrong number": get(q="a", k="many"),
        "wrong mode": get(q="a", mode="fuzzy"),
        "wrong raw query": get(q="'a AND'"),
        "wrong glob": get(q="a", path_glob="notes/[abc"),
        "wrong filter": get(q="a", media="film"),
        "wrong cursor of a list": client.get(sources, {"cursor": "x"}),
        "stale cursor of a search": get(cursor="nonsense"),
        "broken JSON": client.post(search, b'{"q": ', content_type="application/json"),
        "wrong media type": client.post(search, b"q: a", content_type="text/yaml"),
        "wrong path": post_text(client, workspace, "../a.md"),
        "large upload": post_text(client, workspace, text="x" * 1_001),
        "wrong library": client.get(address(workspace, "/context"), {"libraryId": "react", "query": "a"}),
        "source exists": create(key="taken", kind="upload"),
        "folder not allowed": create(key="b", kind="folder", config={"path": "/etc"}),
        "private address": create(key="b", kind="web", config={"url": "http://127.0.0.2/"}),
        "upload into a folder": post_text(client, workspace, source="folder"),
        "document of a folder": client.delete(address(workspace, f"/documents/{document.doc_id.hex}")),
        "nothing to sync": client.post(
            address(workspace, f"/sources/{ensure_source(workspace, 'taken', kind='upload').pk}/sync")
        ),
        "ended job": client.post(address(workspace, f"/jobs/{job.pk}/cancel")),
    }
    text = "\n\n".join(problem_text(name, response) for name, response in problems.items()) + "\n"
    text = text.replace(str(job.pk), "<id>")
    if os.environ.get("KEBAB_WRITE_SNAPSHOTS"):
        SNAPSHOT.write_text(text, encoding="utf-8")
    assert text == SNAPSHOT.read_text(encoding="utf-8")
