"""A folder's kebab.json chooses its files and describes its library."""

import json

from ingest.jobs.queue.report import ingest_report
from ingest.jobs.queue.request import request_sync
from search.models import Source
from tests.support.jobs import counts, fill, indexed_texts, sync, work
from tests.support.schemas import validate

FILES = {"README.md": "read\n", "docs/a.md": "alpha\n", "docs/old/b.md": "beta\n", "docs/CHANGES.md": "new\n"}


def project(folder, **values):
    fill(folder, {"kebab.json": json.dumps(values)})


def fresh(source):
    return Source.objects.get(pk=source.pk)


def test_folders_and_files_are_chosen_as_the_project_file_says(workspace, folder, source):
    fill(folder, FILES)
    assert sync(source)["project_file"] is None
    project(folder, folders=["docs"], excludeFolders=["docs/old"], excludeFiles=["CHANGES.md"])
    report = sync(source)

    assert (report["deleted"], indexed_texts(workspace)) == (3, {"docs/a.md": ["alpha"]})
    assert report["skipped_by_reason"] == {"outside_folders": 2, "excluded_folder": 1, "excluded_file": 1}
    assert report["examples"]["excluded_folder"] == ["docs/old/"]
    assert report["project_file"] == {"name": "kebab.json", "errors": []}
    validate("ingest_report.v1", report)


def test_errors_of_the_project_file_leave_the_defaults(workspace, folder, source):
    fill(folder, {**FILES, "kebab.json": "{"})
    report = sync(source)
    assert [error["key"] for error in report["project_file"]["errors"]] == [""]
    assert counts(report)["new"] == 5
    project(folder, folders="docs", excludeFiles=["CHANGES.md"], projectTitle="Docs")
    report = sync(source)

    assert report["project_file"]["name"] == "kebab.json"
    assert [error["key"] for error in report["project_file"]["errors"]] == ["folders"]
    assert indexed_texts(workspace).keys() == {*FILES, "kebab.json"}
    assert fresh(source).title == "notes"
    validate("ingest_report.v1", report)


def test_report_of_a_running_job_names_the_project_file_too(folder, source, monkeypatch):
    fill(folder, FILES)
    project(folder, rules=5)
    monkeypatch.setattr("ingest.jobs.items.worker.ItemWorker.run", lambda self: 1 / 0)
    job = work(request_sync(source))

    assert job.state == "running"
    assert ingest_report(job)["project_file"]["errors"][0]["key"] == "rules"


def test_library_is_presented_as_the_project_file_says(folder, source):
    fill(folder, FILES)
    project(folder, projectTitle="The Docs", description="All of it.", rules=["Be brief."], folders=["docs"])
    sync(source)
    library = fresh(source)

    assert (library.title, library.description, library.rules) == ("The Docs", "All of it.", ["Be brief."])
    assert (library.library_id, library.total_snippets) == ("/local/notes", 3)
    assert (library.trust_score, library.state) == (2.0, "indexed")

    before = Source.objects.values("title", "description", "rules", "project", "total_snippets").get()
    assert counts(sync(source)) == {"seen": 5, "unchanged": 3, "skipped": 2}
    assert Source.objects.values(*before).get() == before
    project(folder, projectTitle="Other", rules=5)
    sync(source)
    assert (fresh(source).title, fresh(source).rules) == ("The Docs", ["Be brief."])


def test_values_that_the_project_file_no_longer_states_are_reset_unless_a_person_changed_them(folder, source):
    project(folder, projectTitle="The Docs", description="All of it.", rules=["Be brief."])
    sync(source)
    project(folder, projectTitle="Docs")
    sync(source)
    assert (fresh(source).title, fresh(source).description, fresh(source).rules) == ("Docs", "", [])
    project(folder, projectTitle="Docs", description="All of it.")
    sync(source)
    Source.objects.update(description="What a person says.")
    (folder / "kebab.json").unlink()
    sync(source)
    assert (fresh(source).title, fresh(source).project) == ("notes", {})
    assert fresh(source).description == "What a person says."


def test_previous_versions_get_their_titles_and_choose_by_their_own_project_file(workspace, folder, source):
    fill(folder, FILES)
    project(folder, excludeFolders=["docs"], projectTitle="Old")
    sync(source, version="v1")
    assert fresh(source).title == "notes"
    project(folder, projectTitle="New", previousVersions=[{"tag": "v1", "title": "The first"}, {"tag": "v2"}])
    sync(source)
    sync(source, version="v2")
    versions = {version.tag: version.title for version in fresh(source).versions.all()}

    assert versions == {"v1": "The first", "": "", "v2": ""}
    assert fresh(source).title == "New"
    assert fresh(source).total_snippets == 5
