import io

from ingest.jobs.queue.report import ingest_report
from ingest.models import Job
from kebab.cli.client.ingest_targets import print_report
from kebab.cli.client.terminal import Terminal


def printed_report(project_file):
    counts = dict.fromkeys(("new", "updated", "unchanged", "deleted"), 0)
    by_reason: dict[str, dict[str, int]] = {"skipped": {}, "failed": {}, "examples": {}}
    job = Job(counts={**counts, **by_reason, "project_file": project_file})
    out = io.StringIO()
    print_report(Terminal(out, out, as_json=False), {**ingest_report(job), "embedding_calls": 0})
    return out.getvalue()


def test_errors_of_a_project_file_are_printed_with_their_keys():
    errors = [{"key": "folders", "message": "It must be a list."}, {"key": "", "message": "It is not JSON."}]
    text = printed_report({"name": "kebab.json", "errors": errors})

    assert "kebab.json: folders: It must be a list." in text
    assert "kebab.json: It is not JSON." in text
    for without in ({"name": "kebab.json", "errors": []}, None):
        assert "kebab.json" not in printed_report(without)
