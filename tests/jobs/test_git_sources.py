"""Git sources, from real repositories to documents: what changes is touched, and nothing else."""

import json

import pytest
from django.db.models.functions import Now

from ingest.connectors.git.place import Place
from ingest.jobs import sync_source
from ingest.jobs.items import ItemWorker
from ingest.jobs.report import ingest_report
from ingest.jobs.request import request_source_deletion, request_sync
from ingest.models import Job
from ingest.versions import add_version
from kebab.people.deletion import delete_workspace
from search.corpus import ensure_source
from search.models import ChunkVector, Document, Source, SourceVersion
from tests.jobs.repositories import WrittenRepository
from tests.jobs.working import PICTURE, counts, drop_embedding_jobs, embed, indexed, sync, work

FILES = {"README.md": "read\n", "docs/a.md": "alpha\n", "docs/b.md": "beta\n"}


@pytest.fixture(autouse=True)
def _data_directory(settings, tmp_path):
    settings.KEBAB_DATA_DIR = tmp_path / "data"


@pytest.fixture
def repository(tmp_path):
    made = WrittenRepository(tmp_path / "origin")
    made.commit(FILES)
    return made


@pytest.fixture
def source(workspace, repository):
    return ensure_source(workspace, "repo", kind="git", config={"url": repository.url})


def texts(workspace, tag=""):
    paths = Document.objects.in_workspace(workspace).filter(version__tag=tag).values_list("path", flat=True)
    return {path: "".join(indexed_version(workspace, tag)[path]) for path in paths}


def indexed_version(workspace, tag):
    documents = Document.objects.in_workspace(workspace).filter(version__tag=tag)
    return {
        document.path: [chunk.text for chunk in document.chunks.order_by("ordinal")] for document in documents
    }


def commit_of(source, tag=""):
    return SourceVersion.objects.get(source=source, tag=tag).commit


def place_of(source):
    return Place.of(source.workspace_id, source.pk)


def test_the_default_branch_is_read_and_its_commit_noted(workspace, repository, source):
    report = sync(source)

    assert counts(report) == {"seen": 3, "new": 3, "parser_calls": 3}
    assert indexed(workspace) == {"README.md": ["read"], "docs/a.md": ["alpha"], "docs/b.md": ["beta"]}
    assert commit_of(source) == repository.head()
    blob = repository.git("rev-parse", "HEAD:docs/a.md")
    assert Document.objects.get(path="docs/a.md").source_revision == blob


def test_a_commit_of_one_line_touches_one_document(workspace, repository, source):
    sync(source)
    before = dict(Document.objects.values_list("path", "indexed_at"))
    repository.commit({"docs/a.md": "alpha, better\n"})
    report = sync(source)

    assert counts(report) == {"seen": 3, "updated": 1, "unchanged": 2, "parser_calls": 1}
    after = dict(Document.objects.values_list("path", "indexed_at"))
    assert {path for path in after if after[path] != before[path]} == {"docs/a.md"}
    assert commit_of(source) == repository.head()


def test_nothing_new_fetches_and_reads_nothing(repository, source):
    sync(source)
    packs = set((place_of(source).git_dir / "objects" / "pack").iterdir())

    assert counts(sync(source)) == {"seen": 3, "unchanged": 3}
    assert set((place_of(source).git_dir / "objects" / "pack").iterdir()) == packs


def test_after_a_forced_push_the_source_is_what_the_branch_is(workspace, repository, source):
    sync(source)
    repository.commit({"docs/a.md": None, "docs/c.md": "gamma\n", "README.md": "other\n"}, "--amend")
    report = sync(source)

    assert counts(report) == {
        "seen": 3,
        "new": 1,
        "updated": 1,
        "unchanged": 1,
        "deleted": 1,
        "parser_calls": 2,
    }
    assert texts(workspace) == {"README.md": "other", "docs/b.md": "beta", "docs/c.md": "gamma"}
    assert commit_of(source) == repository.head()


def test_a_rename_is_one_new_and_one_deleted_without_a_second_embedding(workspace, repository, source):
    sync(source)
    drop_embedding_jobs()
    embed(workspace)
    repository.git("mv", "docs/a.md", "docs/z.md")
    repository.commit({})
    report = sync(source)

    assert (report["new"], report["deleted"], report["unchanged"]) == (1, 1, 2)


def test_three_tags_are_three_versions_that_share_what_is_the_same(workspace, repository, source):
    repository.git("tag", "v1")
    repository.commit({"docs/a.md": "alpha two\n"})
    repository.git("tag", "--annotate", "--message=second", "v2")
    repository.commit({"docs/b.md": "beta three\n", "docs/c.md": "gamma\n"})
    repository.git("tag", "v3")
    first = {tag: sync(source, version=tag) for tag in ("v1", "v2", "v3")}

    assert [first[tag]["parser_calls"] for tag in ("v1", "v2", "v3")] == [3, 1, 2]
    assert [first[tag]["new"] for tag in ("v1", "v2", "v3")] == [3, 3, 4]
    assert texts(workspace, "v1") == {"README.md": "read", "docs/a.md": "alpha", "docs/b.md": "beta"}
    assert texts(workspace, "v2") == {"README.md": "read", "docs/a.md": "alpha two", "docs/b.md": "beta"}
    assert texts(workspace, "v3")["docs/b.md"] == "beta three"
    assert commit_of(source, "v2") == repository.git("rev-parse", "v2^{commit}")
    assert commit_of(source, "v2") != repository.git("rev-parse", "v2")


def test_adding_a_tag_embeds_only_what_changed(workspace, repository, source):
    sync(source)
    drop_embedding_jobs()
    assert embed(workspace).calls == 3
    repository.commit({"docs/a.md": "alpha two\n"})
    repository.git("tag", "v2")
    sync(source, version="v2")
    drop_embedding_jobs()

    assert embed(workspace).calls == 1
    vectors = ChunkVector.objects.in_workspace(workspace)
    assert (vectors.count(), vectors.values("embed_hash").distinct().count()) == (6, 4)


def test_a_copied_document_is_what_parsing_would_have_made(workspace, repository, source):
    front = "---\ntitle: Titled\ntags: [one]\nauthor: Ada\n---\n# First\n\nText.\n\n## Second\n\n"
    front += "```python\nx = 1\n```\n"
    repository.commit({"docs/front.md": front})
    repository.git("tag", "v1")
    Source.objects.update(default_tags=["given"], default_trust="primary")
    source.refresh_from_db()
    sync(source)
    assert sync(source, version="v1")["parser_calls"] == 0
    copied, parsed = (Document.objects.get(path="docs/front.md", version__tag=tag) for tag in ("v1", ""))

    same = ("title", "lang", "tags", "trust_level", "mime", "media", "content_hash", "metadata", "size_bytes")
    assert [getattr(copied, name) for name in same] == [getattr(parsed, name) for name in same]
    assert "given" in copied.tags
    facts = ("kind", "language", "heading_path", "breadcrumb", "text", "source_spans", "token_count")
    rows = [list(document.chunks.order_by("ordinal").values(*facts)) for document in (copied, parsed)]
    assert rows[0] == rows[1]
    assert len(rows[0]) > 1


def test_a_document_of_an_older_parser_is_not_copied(workspace, repository, source):
    sync(source)
    Document.objects.filter(path="docs/a.md").update(parser_version="older")
    repository.git("tag", "v1")

    assert sync(source, version="v1")["parser_calls"] == 1


def test_a_branch_may_stand_for_the_default_version(workspace, repository):
    repository.git("checkout", "--quiet", "-b", "stable")
    repository.commit({"docs/a.md": "stable alpha\n"})
    repository.git("checkout", "--quiet", "main")
    config = {"url": repository.url, "branch": "stable"}
    sync(ensure_source(workspace, "stable", kind="git", config=config))

    assert texts(workspace)["docs/a.md"] == "stable alpha"


def test_a_tag_goes_before_a_branch_of_its_name_except_for_the_configured_branch(workspace, repository):
    repository.git("tag", "both")
    repository.git("checkout", "--quiet", "-b", "both")
    repository.commit({"docs/a.md": "branch\n"})
    sync(ensure_source(workspace, "tags", kind="git", config={"url": repository.url}), version="both")
    sync(ensure_source(workspace, "branch", kind="git", config={"url": repository.url, "branch": "both"}))

    assert (texts(workspace, "both")["docs/a.md"], texts(workspace)["docs/a.md"]) == ("alpha", "branch")


def test_a_tag_that_moved_is_read_again(workspace, repository, source):
    repository.git("tag", "v1")
    sync(source, version="v1")
    repository.commit({"docs/a.md": "moved\n"})
    repository.git("tag", "--force", "v1")

    assert counts(sync(source, version="v1"))["updated"] == 1
    assert texts(workspace, "v1")["docs/a.md"] == "moved"


@pytest.mark.parametrize("tag", ["v9", "--upload-pack=touch x", "-x", "a..b", "refs/../x", "a b", "x^{tree}"])
def test_a_tag_that_is_not_there_fails_the_job_by_its_name(workspace, source, tag):
    sync(source)
    job = work(request_sync(source, version=tag))

    assert (job.state, repr(tag) in job.error) == ("failed", True)
    assert len(texts(workspace)) == 3


def test_a_tag_of_a_single_file_names_no_commit(repository, source):
    repository.git("tag", "file", "HEAD:README.md")
    job = work(request_sync(source, version="file"))

    assert (job.state, "name a commit" in job.error) == ("failed", True)


def test_a_repository_without_a_commit_deletes_nothing(workspace, repository, source, tmp_path):
    sync(source)
    empty = WrittenRepository(tmp_path / "empty")
    Source.objects.update(config={"url": empty.url})
    job = work(request_sync(source))

    assert (job.state, "no commit yet" in job.error) == ("failed", True)
    assert len(texts(workspace)) == 3


def test_a_repository_that_is_gone_deletes_nothing(workspace, repository, source):
    sync(source)
    repository.root.rename(repository.root.with_name("away"))
    job = work(request_sync(source))

    assert job.state == "failed"
    assert len(texts(workspace)) == 3


@pytest.mark.parametrize("is_copy_there", [True, False])
def test_a_job_that_goes_on_reads_the_commit_it_began_with(
    workspace, repository, source, monkeypatch, is_copy_there
):
    with monkeypatch.context() as broken:
        broken.setattr(ItemWorker, "run", lambda self: 1 / 0)
        job = work(request_sync(source))
    began_with = repository.head()
    repository.commit({"docs/a.md": "too late\n"})
    if not is_copy_there:
        place_of(source).git_dir.rename(place_of(source).folder / "elsewhere")
    Job.objects.filter(pk=job.pk).update(lease_until="2000-01-01T00:00Z", due_at="2000-01-01T00:00Z")
    job = work(job)

    assert job.state == "succeeded", job.error
    assert texts(workspace)["docs/a.md"] == "alpha"
    assert commit_of(source) == began_with
    assert counts(sync(source))["updated"] == 1


def test_a_retry_of_some_files_says_nothing_of_the_whole_versions_commit(repository, source):
    sync(source)
    began_with = repository.head()
    repository.commit({"docs/a.md": "two\n"})
    sync(source, only_paths=["docs/b.md"])

    assert commit_of(source) == began_with


def test_rules_and_the_project_file_are_those_of_the_commit(workspace, repository, source):
    project = {"projectTitle": "The Repo", "excludeFolders": ["old"], "previousVersions": [{"tag": "v1"}]}
    repository.commit(
        {
            "kebab.json": json.dumps(project),
            ".gitignore": "*.log\n",
            ".kebabignore": "private/\n",
            "a.log": "x\n",
            "private/p.md": "x\n",
            "old/o.md": "x\n",
            "node_modules/n.md": "x\n",
            "yarn.lock": "x\n",
            "docs/picture.png": PICTURE,
        }
    )
    (repository.root / "kebab.json").write_text("{}")
    report = sync(source)

    assert (
        report["skipped_by_reason"].items()
        >= {
            "ignored": 2,
            "excluded_folder": 1,
            "skipped_directory": 1,
            "lock_file": 1,
        }.items()
    )
    assert {"a.log", "private/p.md", "old/o.md", "node_modules/n.md"}.isdisjoint(texts(workspace))
    assert report["project_file"] == {"name": "kebab.json", "errors": []}
    fresh = Source.objects.get(pk=source.pk)
    assert (fresh.title, fresh.project["versions"]) == ("The Repo", {"v1": ""})


def test_an_offered_version_is_added_with_its_title(workspace, repository, source):
    repository.git("tag", "v1")
    offered = {"previousVersions": [{"tag": "v1", "title": "The first"}]}
    repository.commit({"kebab.json": json.dumps(offered)})
    sync(source)
    source.refresh_from_db()
    added = add_version(source, tag="v1", title="", requested_by="ada")

    assert work(added.job).state == "succeeded"
    assert SourceVersion.objects.get(tag="v1").title == "The first"
    assert texts(workspace, "v1")["docs/a.md"] == "alpha"


def test_the_copy_goes_with_its_source(workspace, source):
    sync(source)
    assert place_of(source).git_dir.exists()
    assert work(request_source_deletion(source)).state == "succeeded"

    assert not place_of(source).folder.exists()


def test_copies_go_with_their_workspace(workspace, source):
    sync(source)
    delete_workspace(workspace)

    assert not place_of(source).folder.parent.exists()


def test_the_copy_of_a_source_that_another_node_deleted_goes_at_the_next_sync(workspace, repository, source):
    gone = ensure_source(workspace, "gone", kind="git", config={"url": repository.url})
    sync(gone)
    Document.objects.filter(source=gone).delete()
    Job.objects.all().delete()
    Source.objects.filter(pk=gone.pk).delete()
    sync(source)

    assert not place_of(gone).folder.exists()
    assert place_of(source).folder.exists()


def test_a_damaged_copy_is_made_anew(workspace, repository, source):
    sync(source)
    for pack in (place_of(source).git_dir / "objects" / "pack").glob("*.pack"):
        pack.chmod(0o600)
        pack.write_bytes(b"nonsense")
    repository.commit({"docs/a.md": "alpha two\n"})

    assert counts(sync(source))["updated"] == 1
    assert texts(workspace)["docs/a.md"] == "alpha two"


def test_a_lock_that_a_killed_git_left_is_no_obstacle(repository, source):
    sync(source)
    (place_of(source).git_dir / "shallow.lock").touch()
    (place_of(source).git_dir / "refs" / "kebab" / "x.lock").touch()
    repository.commit({"docs/a.md": "alpha two\n"})

    assert counts(sync(source))["updated"] == 1


def test_many_fetches_leave_few_packs(repository, source, monkeypatch):
    monkeypatch.setattr("ingest.connectors.git.repository._MOST_PACKS", 2)
    for number in range(4):
        repository.commit({"docs/a.md": f"alpha {number}\n"})
        sync(source)

    assert len(list((place_of(source).git_dir / "objects" / "pack").glob("*.pack"))) <= 2
    assert counts(sync(source)) == {"seen": 3, "unchanged": 3}


def test_a_sync_asks_for_the_versions_whose_tag_or_branch_has_moved(workspace, repository, source):
    repository.git("checkout", "--quiet", "-b", "next")
    repository.git("checkout", "--quiet", "main")
    for name in ("still", "moved"):
        repository.git("tag", "--annotate", "--message=x", name)
    repository.git("tag", "gone")
    for tag in ("still", "moved", "gone", "next"):
        sync(source, version=tag)
    sync(source)
    assert open_syncs() == {}
    repository.git("tag", "--delete", "gone")
    repository.git("checkout", "--quiet", "next")
    repository.commit({"docs/a.md": "next alpha\n"})
    repository.git("tag", "--force", "--annotate", "--message=y", "moved")
    repository.git("checkout", "--quiet", "main")
    asked = work(request_sync(source, requested_by="schedule", embed=False))

    assert (asked.state, open_syncs().keys()) == ("succeeded", {"moved", "next"})
    for job in open_syncs().values():
        assert (job.requested_by, job.payload["embed"]) == ("schedule", False)
    sync(source)
    assert len(open_syncs()) == 2
    for job in open_syncs().values():
        assert counts(ingest_report(work(job)))["updated"] == 1
    assert texts(workspace, "next")["docs/a.md"] == texts(workspace, "moved")["docs/a.md"] == "next alpha"
    assert texts(workspace, "gone")["docs/a.md"] == "alpha"
    sync(source)
    assert open_syncs() == {}


def test_the_versions_are_asked_for_though_the_worker_dies_when_it_has_listed(
    repository, source, monkeypatch
):
    class Killed(BaseException):
        pass

    def die_behind_it(*args):
        discover(*args)
        raise Killed

    repository.git("tag", "v1")
    sync(source, version="v1")
    sync(source)
    repository.commit({"docs/a.md": "two\n"})
    repository.git("tag", "--force", "v1")
    discover = sync_source._discover
    monkeypatch.setattr(sync_source, "_discover", die_behind_it)
    job = request_sync(source)
    with pytest.raises(Killed):
        work(job)
    monkeypatch.undo()
    Job.objects.filter(pk=job.pk).update(lease_until=Now())

    assert work(job).state == "succeeded"
    assert open_syncs().keys() == {"v1"}


def open_syncs():
    """Jobs that wait, by the version that they are of."""
    return {
        job.payload.get("version", ""): job for job in Job.objects.filter(kind="sync_source", state="queued")
    }


def test_a_sync_of_some_files_or_of_one_version_follows_no_other(repository, source):
    repository.git("tag", "v1")
    sync(source, version="v1")
    sync(source)
    repository.commit({"docs/a.md": "two\n"})
    repository.git("tag", "--force", "v1")
    sync(source, only_paths=["docs/b.md"])
    repository.git("tag", "v2")
    sync(source, version="v2")
    assert open_syncs() == {}


def test_tags_that_match_become_versions_as_they_appear(workspace, repository, monkeypatch):
    monkeypatch.setattr("ingest.jobs.follow_versions.MOST_NEW_VERSIONS", 2)
    config = {"url": repository.url, "tags": ["v*", "docs/*"]}
    source = ensure_source(workspace, "tagged", kind="git", config=config)
    for tag in ("v9", "v10", "v10-rc", "w1", "docs/1"):
        repository.git("tag", tag)
    sync(source)
    assert open_syncs().keys() == {"v10-rc", "v10"}
    sync(source)
    assert open_syncs().keys() == {"v10-rc", "v10", "v9", "docs/1"}
    for job in open_syncs().values():
        assert counts(ingest_report(work(job))) == {"seen": 3, "new": 3}
    repository.commit({"docs/a.md": "eleven\n"})
    repository.git("tag", "v11")
    assert counts(sync(source))["updated"] == 1
    assert open_syncs().keys() == {"v11"}
    assert work(open_syncs()["v11"]).state == "succeeded"
    sync(source)
    assert open_syncs() == {}
    assert texts(workspace, "v10")["docs/a.md"] == "alpha"
    assert texts(workspace, "v11")["docs/a.md"] == "eleven"


def test_names_that_differ_in_case_alone_are_two_documents(workspace, repository, source):
    repository.commit_tree(
        ("100644", b"README.md", repository.blob(b"loud\n")),
        ("100644", b"Readme.md", repository.blob(b"quiet\n")),
    )
    assert counts(sync(source)) == {"seen": 2, "new": 2, "parser_calls": 2}
    assert texts(workspace) == {"README.md": "loud", "Readme.md": "quiet"}
