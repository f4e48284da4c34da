"""Git sources, from real repositories to documents: what changes is touched, and nothing else."""

import json

import pytest

from ingest.jobs.items import ItemWorker
from ingest.jobs.request import request_sync
from ingest.models import Job
from ingest.versions import add_version
from search.corpus import ensure_source
from search.models import ChunkVector, Document, Source, SourceVersion
from tests.integration.ingest.jobs.git_documents import place_of, texts
from tests.integration.ingest.jobs.repositories import WrittenRepository
from tests.support.jobs import PICTURE, counts, drop_embedding_jobs, embed, indexed, sync, work


@pytest.fixture
def repository(written_repository):
    return written_repository


@pytest.fixture
def source(git_source):
    return git_source


def commit_of(source, tag=""):
    return SourceVersion.objects.get(source=source, tag=tag).commit


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


def test_names_that_differ_in_case_alone_are_two_documents(workspace, repository, source):
    repository.commit_tree(
        ("100644", b"README.md", repository.blob(b"loud\n")),
        ("100644", b"Readme.md", repository.blob(b"quiet\n")),
    )
    assert counts(sync(source)) == {"seen": 2, "new": 2, "parser_calls": 2}
    assert texts(workspace) == {"README.md": "loud", "Readme.md": "quiet"}
