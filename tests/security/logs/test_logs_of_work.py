"""Log lines of work on documents contain no word of them: files read, rejected, embedded and deleted."""

import logging

import pytest

from ingest.jobs.queue.request import request_embedding, request_sync
from ingest.models import JobItem
from kebab.identity.models import Workspace
from search.corpus import ensure_source
from search.mirror import local_mirrors
from tests.security.leaks.answers import captured_log, leaks_in
from tests.security.leaks.canaries import CLOSED, Target
from tests.support.corpus import make_workspace
from tests.support.jobs import PICTURE, fill, upload, work

_TEXT = f"# {CLOSED}heading\n\nThe {CLOSED}text stands here.\n"
_READ = f"{CLOSED}folder/{CLOSED}.md"
_FILES = {
    _READ: _TEXT,
    f"{CLOSED}.psd": PICTURE,
    f"{CLOSED}.pdf": f"%PDF-1.7 {CLOSED}",
    f"{CLOSED}.py": f"def {CLOSED}(:\n",
    f"{CLOSED}.docx": b"PK\x03\x04" + CLOSED.encode(),
}


@pytest.fixture
def workspace(transactional_db, settings, blobs, mirrors, tmp_path):
    settings.KEBAB_FOLDER_ROOTS = [str(tmp_path)]
    return make_workspace(slug=f"{CLOSED}-workspace")


def test_log_lines_contain_no_text_or_name_of_documents(workspace, tmp_path):
    root = tmp_path / "files"
    fill(root, _FILES)
    source, gone = (
        ensure_source(workspace, f"{CLOSED}-{key}", kind="folder", config={"path": str(tmp_path / key)})
        for key in ("files", "gone")
    )
    with captured_log() as lines:
        logging.getLogger("ingest").debug("the %s is listened to", "ingest")
        jobs = [work(request_sync(each)) for each in (source, gone)]
        jobs += [work(upload(workspace, f"{CLOSED}-up/{path}", _bytes(_FILES[path]))) for path in _FILES]
        jobs.append(work(request_embedding(workspace.pk)))
        (root / _READ).unlink()
        jobs.append(work(request_sync(source)))
        local_mirrors.wait_for_seq(workspace.pk, Workspace.objects.get(pk=workspace.pk).head_seq, limit_s=20)

    assert {job.state for job in jobs} == {"succeeded", "failed"}
    assert {item.outcome for item in JobItem.objects.in_workspace(workspace)} >= {"new", "skipped", "deleted"}
    assert lines[0] == "DEBUG ingest the ingest is listened to"
    assert not [line for line in lines if leaks_in(line, Target(stem=CLOSED), ())]


def _bytes(text):
    return text if isinstance(text, bytes) else text.encode()
