"""The quarantine page, with its retry and delete actions."""

import re

import pytest

from ingest.models import Job, Unreadable
from kebab.identity.models import Group
from search.access.restrictions import restrict
from search.corpus import ensure_source, ensure_version
from tests.pages.page_text import markup_of
from tests.support.api import quarantine

PAGE = "/w/handbook/quarantine"


def set_aside(workspace, path, key="uploads", kind="upload", config=None):
    source = ensure_source(workspace, key, kind=kind, config=config)
    return quarantine(workspace, ensure_version(source), path)


@pytest.fixture
def bomb(workspace):
    return set_aside(workspace, "reports/<b>omb.pdf")


@pytest.fixture
def quarantined_file(workspace):
    return set_aside(workspace, "guide.pdf", key="docs", kind="folder", config={"path": "/d"})


def test_files_are_listed_and_narrowed_to_a_source_and_a_state(visit, viewer, bomb, quarantined_file):
    Unreadable.objects.filter(pk=quarantined_file.pk).update(is_quarantined=False, reason="encrypted")
    client = visit(viewer)
    page = markup_of(client.get(PAGE))

    for shown in ("reports/&lt;b&gt;omb.pdf", "30 s", "uploads", "guide.pdf"):
        assert shown in page
    assert "/retry" not in page
    assert "/delete" not in page
    assert re.findall("<option[^>]*>([a-z]+)<", page) == ["docs", "uploads"]
    assert "omb.pdf" not in markup_of(client.get(PAGE, {"source": "docs"}))
    assert "guide.pdf" not in markup_of(client.get(PAGE, {"state": "quarantined"}))
    refused = markup_of(client.get(PAGE, {"state": "refused"}))
    assert "guide.pdf" in refused
    assert "Save a copy without one." in refused
    assert "omb.pdf" not in refused


def test_file_of_a_synced_source_is_tried_again_in_a_job_and_not_forgotten(visit, editor, quarantined_file):
    client = visit(editor)
    assert f"{PAGE}/{quarantined_file.pk}/delete" not in markup_of(client.get(PAGE))
    assert client.post(f"{PAGE}/{quarantined_file.pk}/delete").status_code == 409
    answer = client.post(f"{PAGE}/{quarantined_file.pk}/retry")
    job = Job.objects.get()

    assert answer["Location"] == f"/w/handbook/activity/{job.pk}"
    assert job.payload["only_paths"] == ["guide.pdf"]


def test_upload_is_forgotten_and_not_tried_again_once_its_bytes_are_gone(visit, editor, bomb):
    client = visit(editor)
    assert client.post(f"{PAGE}/{bomb.pk}/retry").status_code == 409
    assert f"{PAGE}/{bomb.pk}/delete" in markup_of(client.get(PAGE))
    client.post(f"{PAGE}/{bomb.pk}/delete")

    assert not Unreadable.objects.exists()


def test_hidden_file_is_answered_like_a_missing_one(visit, editor, workspace, bomb):
    restrict(bomb.version.source, [Group.objects.create(workspace=workspace, name="Board").pk])
    client = visit(editor)
    for act in ("retry", "delete"):
        hidden = client.post(f"{PAGE}/{bomb.pk}/{act}")
        missing = client.post(f"{PAGE}/{bomb.pk + 1}/{act}")
        assert (hidden.status_code, hidden.content) == (404, missing.content)
    assert "omb.pdf" not in markup_of(client.get(PAGE))
