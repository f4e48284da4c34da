import pytest

from ingest.jobs.queue.run import run_job
from ingest.models import Job
from tests.drills.bench import job_progress


@pytest.fixture(autouse=True)
def _stack(transactional_db, mirrors, blobs, settings, tmp_path, monkeypatch):
    """Run jobs while the command sleeps, as no stack runs."""
    settings.KEBAB_DATA_DIR = tmp_path / "data"
    settings.KEBAB_DATA_DIR.mkdir()
    monkeypatch.setattr(job_progress.time, "sleep", lambda _: _run_due_jobs())


def _run_due_jobs():
    for job in Job.objects.all().due():
        run_job(job.workspace_id, job.pk)


@pytest.fixture
def folder(tmp_path):
    pages = tmp_path / "pages"
    pages.mkdir()
    for name in ("apple", "pear", "plum"):
        sentence = f"All about the {name}, how it is grown, harvested and kept."
        text = f"# {name.title()}\n\n## Growing the {name}\n\n{sentence}\n"
        (pages / f"{name}.md").write_text(text)
    return pages
