"""Git sources turn repositories into documents and rewrite only changed ones."""

import json

import pytest

from ingest.jobs.items.worker import ItemWorker
from ingest.jobs.queue.request import request_sync
from ingest.models import Job
from search.corpus import ensure_source
from search.models import ChunkVector, Document, Source, SourceVersion
from tests.integration.ingest.connectors.git.documents import place_of, texts
from tests.integration.ingest.connectors.git.repositories import WrittenRepository
from tests.support.jobs import PICTURE, counts, drop_embedding_jobs, embed, failure, indexed_texts, sync, work


def commit_of(source, tag=""):
    return SourceVersion.objects.get(source=source, tag=tag).commit


def test_default_branch_is_read_once_and_its_commit_noted(workspace, repository, source):
    report = sync(source)

    assert counts(report) == {"seen": 3, "new": 3, "parser_calls": 3}
    assert indexed_texts(workspace) == {"README.md": ["read"], "docs/a.md": ["alpha"], "docs/b.md": ["beta"]}
    assert commit_of(source) == repository.head()
    blob = repository.git("rev-parse", "HEAD:docs/a.md")
    assert Document.objects.get(path="docs/a.md").source_revision == blob

    packs = set((place_of(source).git_dir / "objects" / "pack").iterdir())
    assert counts(sync(source)) == {"seen": 3, "unchanged": 3}
    assert set((place_of(source).git_dir / "objects" / "pack").iterdir()) == packs


def test_commit_of_one_line_touches_one_document(workspace, repository, source):
    sync(source)
    before = dict(Document.objects.values_list("path", "indexed_at"))
    repository.commit({"docs/a.md": "alpha, better\n"})
    report = sync(source)

    assert counts(report) == {"seen": 3, "updated": 1, "unchanged": 2, "parser_calls": 1}
    after = dict(Document.objects.values_list("path", "indexed_at"))
    assert {path for path in after if after[path] != before[path]} == {"docs/a.md"}
    assert commit_of(source) == repository.head()


def test_source_follows_a_forced_push(workspace, repository, source):
    sync(source)
    repository.commit({"docs/a.md": None, "docs/c.md": "gamma\n", "README.md": "other\n"}, "--amend")
    changed = {"new": 1, "updated": 1, "unchanged": 1, "deleted": 1}

    assert counts(sync(source)) == {"seen": 3, **changed, "parser_calls": 2}
    assert texts(workspace) == {"README.md": "other", "docs/b.md": "beta", "docs/c.md": "gamma"}
    assert commit_of(source) == repository.head()


def test_renamed_file_is_not_embedded_again(workspace, repository, source):
    sync(source)
    drop_embedding_jobs()
    embed(workspace)
    repository.git("mv", "docs/a.md", "docs/z.md")
    repository.commit({})
    assert counts(sync(source)) == {"seen": 3, "new": 1, "unchanged": 2, "deleted": 1, "parser_calls": 1}
    drop_embedding_jobs()
    assert embed(workspace).calls == 0


def test_versions_of_tags_share_unchanged_documents(workspace, repository, source):
    repository.git("tag", "v1")
    repository.commit({"docs/a.md": "alpha two\n"})
    repository.git("tag", "--annotate", "--message=second", "v2")
    repository.commit({"docs/b.md": "beta three\n", "docs/c.md": "gamma\n"})
    repository.git("tag", "v3")
    reports, embedded = [], []
    for tag in ("v1", "v2", "v3"):
        reports.append(sync(source, version=tag))
        drop_embedding_jobs()
        embedded.append(embed(workspace).calls)

    assert [report["parser_calls"] for report in reports] == embedded == [3, 1, 2]
    assert [report["new"] for report in reports] == [3, 3, 4]
    vectors = ChunkVector.objects.in_workspace(workspace)
    assert (vectors.count(), vectors.values("embed_hash").distinct().count()) == (10, 6)
    assert texts(workspace, "v1") == {"README.md": "read", "docs/a.md": "alpha", "docs/b.md": "beta"}
    assert texts(workspace, "v2") == {"README.md": "read", "docs/a.md": "alpha two", "docs/b.md": "beta"}
    assert texts(workspace, "v3")["docs/b.md"] == "beta three"
    assert commit_of(source, "v2") == repository.git("rev-parse", "v2^{commit}")
    assert commit_of(source, "v2") != repository.git("rev-parse", "v2")

    Document.objects.filter(path="docs/a.md").update(parser_version="older")  # is not copied
    assert sync(source)["parser_calls"] == 1


def test_copied_document_equals_a_parsed_one(workspace, repository, source):
    front = "---\ntitle: Titled\ntags: [one]\nauthor: Ada\n---\n# First\n\nText.\n\n## Second\n\n"
    front += "```python\n" + "x = 1\n" * 80 + "```\n"
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
    facts = ("kind", "language", "heading_path", "breadcrumb", "text", "plain", "source_spans", "token_count")
    rows = [list(document.chunks.order_by("ordinal").values(*facts)) for document in (copied, parsed)]
    assert rows[0] == rows[1]
    assert len(rows[0]) > 1


def test_tag_precedes_a_branch_unless_the_source_names_the_branch(workspace, repository):
    repository.git("tag", "both")
    repository.git("checkout", "--quiet", "-b", "both")
    repository.commit({"docs/a.md": "branch\n"})
    sync(ensure_source(workspace, "tags", kind="git", config={"url": repository.url}), version="both")
    sync(ensure_source(workspace, "branch", kind="git", config={"url": repository.url, "branch": "both"}))

    assert (texts(workspace, "both")["docs/a.md"], texts(workspace)["docs/a.md"]) == ("alpha", "branch")


def test_tag_that_names_no_commit_fails_the_job(workspace, repository, source, subtests):
    sync(source)
    repository.git("tag", "file", "HEAD:README.md")
    for tag in ("v9", "--upload-pack=touch x", "-x", "a..b", "refs/../x", "a b", "x^{tree}"):
        with subtests.test(tag=tag):
            assert repr(tag) in failure(source, version=tag)
    assert "a commit" in failure(source, version="file")
    assert len(texts(workspace)) == 3


def test_repository_that_is_empty_or_gone_deletes_nothing(workspace, repository, source, tmp_path):
    sync(source)
    Source.objects.update(config={"url": WrittenRepository(tmp_path / "empty").url})
    assert "is empty" in failure(source)
    Source.objects.update(config={"url": repository.url})
    repository.root.rename(repository.root.with_name("away"))
    failure(source)
    assert len(texts(workspace)) == 3


@pytest.mark.parametrize("is_copy_there", [True, False])
def test_resumed_job_reads_the_commit_it_began_with(
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


def test_ignore_rules_and_project_file_are_read_from_the_commit(workspace, repository, source):
    project = {"projectTitle": "The Repo", "excludeFolders": ["old"], "previousVersions": [{"tag": "v1"}]}
    left_out = ("private/p.md", "old/o.md", "node_modules/n.md", "yarn.lock", "plan.pdf")
    rules = {"kebab.json": json.dumps(project), ".gitignore": "*.log\n", ".kebabignore": "private/\n"}
    pointer = f"version https://git-lfs.github.com/spec/v1\noid sha256:{'4d' * 32}\nsize 12345\n"
    files = {**dict.fromkeys(left_out, "x\n"), "a.log": "added\n", "plan.pdf": pointer}
    repository.commit({**rules, **files, "docs/picture.png": PICTURE})
    (repository.root / "kebab.json").write_text("{}")
    report = sync(source)

    skipped = {
        "ignored": 1, "excluded_folder": 1, "skipped_directory": 1, "lock_file": 1, "lfs_pointer": 1
    }  # fmt: skip
    assert report["skipped_by_reason"].items() >= skipped.items()
    assert set(left_out).isdisjoint(texts(workspace))
    assert texts(workspace)["a.log"] == "added"
    assert report["project_file"] == {"name": "kebab.json", "errors": []}
    fresh = Source.objects.get(pk=source.pk)
    assert (fresh.title, fresh.project["versions"]) == ("The Repo", {"v1": ""})
