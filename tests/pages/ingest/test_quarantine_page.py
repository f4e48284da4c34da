"""The files in quarantine, tried again and forgotten from their page."""

import pytest

from ingest.models import Job, Unreadable
from kebab.people.models import Group
from search.corpus import ensure_source, ensure_version
from search.readers import restrict
from tests.support.api import quarantine

PAGE = "/w/handbook/quarantine"


def set_aside(workspace, path, key="uploads", kind="upload", config=None):
    source = ensure_source(workspace, key, kind=kind, config=config)
    return quarantine(workspace, ensure_version(source), path)


@pytest.fixture
def bomb(workspace):
    return set_aside(workspace, "reports/<b>omb.pdf")


@pytest.fixture
def synced(workspace):
    return set_aside(workspace, "guide.pdf", key="docs", kind="folder", config={"path": "/d"})


def text_of(response):
    assert response.status_code == 200, response.content
    return " ".join(response.content.decode().split())


def test_files_are_listed_with_their_reason_in_words(visit, viewer, bomb):
    page = text_of(visit(viewer).get(PAGE))

    for shown in ("reports/&lt;b&gt;omb.pdf", "Every parser failed on it.", "it took over 30 s", "uploads"):
        assert shown in page


def test_files_are_narrowed_to_a_source_and_a_reason(visit, viewer, bomb, synced):
    Unreadable.objects.filter(pk=synced.pk).update(reason="killed_its_worker")
    client = visit(viewer)

    assert "omb.pdf" not in text_of(client.get(PAGE, {"source": "docs"}))
    assert "guide.pdf" not in text_of(client.get(PAGE, {"reason": "quarantined"}))
    assert "guide.pdf" in text_of(client.get(PAGE, {"reason": "killed_its_worker"}))
    assert "Nothing in quarantine is like that" in text_of(client.get(PAGE, {"source": "none"}))


def test_an_empty_quarantine_says_what_that_means(visit, viewer):
    assert "Nothing is in quarantine" in text_of(visit(viewer).get(PAGE))


def test_a_file_is_tried_again_in_a_job(visit, editor, synced):
    answer = visit(editor).post(f"{PAGE}/{synced.pk}/retry")
    job = Job.objects.get()

    assert answer["Location"] == f"/w/handbook/jobs/{job.pk}"
    assert job.payload["only_paths"] == ["guide.pdf"]


def test_an_upload_whose_bytes_are_gone_is_told_to_be_uploaded_again(visit, editor, bomb):
    answer = visit(editor).post(f"{PAGE}/{bomb.pk}/retry")

    assert answer.status_code == 409
    assert "upload it again" in answer.content.decode()


def test_an_upload_is_forgotten(visit, editor, bomb):
    client = visit(editor)
    assert "Forget it" in text_of(client.get(PAGE))
    answer = client.post(f"{PAGE}/{bomb.pk}/delete", follow=True)

    assert "is forgotten" in text_of(answer)
    assert not Unreadable.objects.exists()


def test_the_file_of_a_synced_source_is_not_forgotten_and_the_remedy_told(visit, editor, synced):
    client = visit(editor)
    answer = client.post(f"{PAGE}/{synced.pk}/delete")

    assert "Forget it" not in text_of(client.get(PAGE))
    assert answer.status_code == 409
    assert "delete it there" in answer.content.decode()
    assert Unreadable.objects.exists()


@pytest.mark.parametrize("act", ["retry", "delete"])
def test_viewers_are_offered_no_act_and_refused_it(visit, viewer, bomb, act):
    client = visit(viewer)

    assert f"/{act}" not in text_of(client.get(PAGE))
    assert client.post(f"{PAGE}/{bomb.pk}/{act}").status_code == 403
    assert Unreadable.objects.exists()


@pytest.mark.parametrize("act", ["retry", "delete"])
def test_a_hidden_file_is_answered_like_a_missing_one(visit, editor, workspace, bomb, act):
    restrict(bomb.version.source, [Group.objects.create(workspace=workspace, name="Board").pk])
    client = visit(editor)
    hidden = client.post(f"{PAGE}/{bomb.pk}/{act}")
    missing = client.post(f"{PAGE}/{bomb.pk + 1}/{act}")

    assert (hidden.status_code, hidden.content) == (404, missing.content)
    assert "omb.pdf" not in text_of(client.get(PAGE))
