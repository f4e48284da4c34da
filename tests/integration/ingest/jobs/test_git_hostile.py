"""Repositories and hosts that mean harm, or are only odd: a job ends well or fails with a reason."""

import os
import stat
import subprocess

import pytest

from ingest.connectors.errors import RepositoryBusy
from ingest.connectors.git.address import read_address
from ingest.connectors.git.environment import git_environment
from ingest.connectors.git.place import Place, locked
from ingest.jobs.items import ItemWorker
from ingest.jobs.request import cancel, request_sync
from search.corpus import ensure_source
from search.models import Document
from tests.integration.ingest.jobs.git_documents import source_of
from tests.integration.ingest.jobs.repositories import WrittenRepository
from tests.support.jobs import counts, failure, indexed, sync, work


@pytest.fixture
def repository(served_repository):
    return served_repository


@pytest.fixture
def source(workspace, repository):
    return source_of(workspace, repository.url)


def test_links_and_submodules_are_left_out_with_a_reason(workspace, repository, source):
    (repository.root / "link.md").symlink_to("a.md")
    (repository.root / "out.md").symlink_to("/etc/passwd")
    repository.git("add", "--all")
    head = repository.head()
    repository.git("update-index", "--add", "--cacheinfo", f"160000,{head},module")
    repository.git("commit", "--quiet", "--message=odd")
    report = sync(source)

    assert set(indexed(workspace)) == {"a.md", "b.md"}
    assert report["skipped_by_reason"] == {"link": 2, "submodule": 1}
    assert report["examples"]["submodule"] == ["module"]


def test_names_that_lead_elsewhere_are_left_out(workspace, repository, source):
    blob = repository.blob(b"evil\n")
    inner = repository.tree(("100644", b"x.md", blob))
    repository.commit_tree(
        ("40000", b".", inner),
        ("40000", b"..", inner),
        ("40000", b".git", inner),
        ("100644", b"a\\..\\b.md", blob),
        ("100644", b"good.md", blob),
        ("100644", b"line\nfeed.md", blob),
        ("100644", b"not\xff.md", blob),
        ("100644", b"with#.md", blob),
    )
    report = sync(source)

    assert {path for path in indexed(workspace) if "\\" not in path} == {"good.md"}
    assert report["skipped_by_reason"] == {
        "unsafe_name": 2,
        "skipped_directory": 1,
        "control_character_in_name": 1,
        "undecodable_name": 1,
        "hash_in_path": 1,
    }
    assert not (Place.of(workspace.pk, source.pk).folder.parent / "x.md").exists()


def test_a_name_twice_in_a_tree_is_read_once(workspace, repository, source):
    first, second = repository.blob(b"first\n"), repository.blob(b"second\n")
    inner = repository.tree(("100644", b"x.md", first))
    repository.commit_tree(
        ("100644", b"a.md", first),
        ("100644", b"a.md", second),
        ("100644", b"d", second),
        ("40000", b"d", inner),
        ("100644", b"e\xcc\x81.md", first),
        ("100644", b"\xc3\xa9.md", second),
    )
    report = sync(source)

    assert indexed(workspace).keys() - {"d"} == {"a.md", "\u00e9.md"}
    assert indexed(workspace)["a.md"] == ["first"]
    assert report["skipped_by_reason"]["duplicate_path"] == 1


def test_a_tree_of_trees_that_never_ends_is_refused(repository, source, monkeypatch):
    monkeypatch.setattr("ingest.connectors.git.command.MAX_OUTPUT_BYTES", 1_000_000)
    name, oid = b"x.md", repository.blob(b"x\n")
    mode = "100644"
    for _ in range(12):
        oid = repository.tree(*((mode, b"%d%s" % (nth, name), oid) for nth in range(10)))
        mode, name = "40000", b""
    repository.git("update-ref", "refs/heads/main", repository.git("commit-tree", oid, "-m", "bomb"))

    assert "more files or references" in failure(source)


def test_a_large_file_is_left_out_unread(workspace, repository, source, monkeypatch):
    repository.commit({"big.py": "x = 1\n" * 100_000})
    read = []
    original = "ingest.connectors.git.source.GitSource.read"
    monkeypatch.setattr(original, _noting(read, original))
    report = sync(source)

    assert report["skipped_by_reason"] == {"too_large": 1}
    assert sorted(read) == ["a.md", "b.md"]


def _noting(read, original):
    from ingest.connectors.git.source import GitSource

    kept = GitSource.read

    def noted(self, path):
        read.append(path)
        return kept(self, path)

    return noted


@pytest.mark.parametrize("is_over_before_a_look", [False, True])
def test_a_repository_over_the_size_limit_is_given_up_and_leaves_nothing(
    workspace, repository, source, settings, monkeypatch, is_over_before_a_look
):
    sync(source)
    repository.commit({"a.md": "other\n", "big.bin": os.urandom(3_000_000)})
    settings.KEBAB_GIT_LIMIT_BYTES = 1_000_000
    with monkeypatch.context() as quick:
        if is_over_before_a_look:
            quick.setattr("ingest.connectors.git.command.Git._look", lambda *_: None)
        else:
            quick.setattr("ingest.connectors.git.command._LOOK_S", 0.001)
        assert "KEBAB_GIT_LIMIT_BYTES" in failure(source)
    assert indexed(workspace)["a.md"] == ["alpha"]
    assert Place.of(workspace.pk, source.pk).size_bytes == 0
    repository.commit({"big.bin": None, "a.md": "small again\n"})
    assert counts(sync(source))["updated"] == 1


def test_a_repository_that_takes_too_long_is_given_up(repository, source, settings):
    settings.KEBAB_GIT_LIMIT_S = 0

    assert "KEBAB_GIT_LIMIT_S" in failure(source)


def test_a_cancelled_job_ends_while_it_waits_for_git(repository, source, monkeypatch):
    job = request_sync(source)
    monkeypatch.setattr(
        "ingest.connectors.git.repository.Repository.commit_of",
        lambda self, *_: (cancel(job), _wait_for(self.git)),
    )

    assert work(job).state == "cancelled"


def _wait_for(git):
    while True:
        git.run("version")


def test_no_hook_of_the_copy_runs(workspace, repository, source, tmp_path):
    sync(source)
    mark = tmp_path / "mark"
    hooks = Place.of(workspace.pk, source.pk).git_dir / "hooks"
    hooks.mkdir()
    for name in ("reference-transaction", "post-checkout", "pre-auto-gc"):
        (hooks / name).write_text(f"#!/bin/sh\ntouch {mark}\n")
        (hooks / name).chmod(0o755)
    repository.commit({"a.md": "two\n"})
    assert counts(sync(source))["updated"] == 1

    assert not mark.exists()


def test_filters_and_encodings_of_gitattributes_do_nothing(workspace, repository, source, tmp_path):
    sync(source)
    mark = tmp_path / "mark"
    with (Place.of(workspace.pk, source.pk).git_dir / "config").open("a") as config:
        config.write(f'[filter "evil"]\n\tsmudge = touch {mark}\n\tclean = touch {mark}\n\trequired = true\n')
        config.write(f'[diff "evil"]\n\ttextconv = touch {mark} ;\n\tcommand = touch {mark}\n')
    attributes = "*.md filter=evil diff=evil ident export-ignore eol=crlf working-tree-encoding=UTF-16\n"
    repository.commit({"a.md": "$Id$ as it is\n"})
    repository.git(
        "update-index",
        "--add",
        "--cacheinfo",
        f"100644,{repository.blob(attributes.encode())},.gitattributes",
    )
    repository.git("commit", "--quiet", "--message=attributes")

    assert counts(sync(source))["updated"] == 1
    assert indexed(workspace)["a.md"] == ["$Id$ as it is"]
    assert not mark.exists()


@pytest.mark.parametrize("branch", ["--upload-pack=touch mark", "-x", "a..b", "refs/../x", "a:b"])
def test_a_branch_that_is_none_reaches_no_command(workspace, repository, branch):
    config = {"url": repository.url, "branch": branch}
    error = failure(ensure_source(workspace, "branch", kind="git", config=config))

    assert "can't be the name" in error


def test_a_tree_of_more_files_than_are_read_is_refused(repository, source, monkeypatch):
    monkeypatch.setattr("ingest.connectors.git.tree.MAX_FILES", 1)

    assert "more than 1 files" in failure(source)


def test_nothing_of_the_users_configuration_counts(repository, source, tmp_path, monkeypatch):
    home = tmp_path / "home"
    home.mkdir()
    (home / ".gitconfig").write_text(f'[url "ext::touch {tmp_path}/mark "]\n\tinsteadOf = file://\n')
    monkeypatch.setenv("HOME", str(home))
    monkeypatch.setenv("GIT_CONFIG_GLOBAL", str(home / ".gitconfig"))
    monkeypatch.setenv("GIT_DIR", "/nowhere")
    monkeypatch.setenv("GIT_ALLOW_PROTOCOL", "ext")

    assert counts(sync(source))["new"] == 2
    assert not (tmp_path / "mark").exists()


@pytest.mark.parametrize("field", ["alternates", "worktree", "link"])
def test_a_folder_by_which_another_one_would_be_read_is_refused(workspace, repository, tmp_path, field):
    other = tmp_path / "served" / "other"
    if field == "alternates":
        WrittenRepository(other)
        (other / ".git/objects/info/alternates").write_text(f"{repository.root}/.git/objects\n")
    elif field == "worktree":
        repository.git("worktree", "add", "--quiet", str(other))
    else:
        other.symlink_to(repository.root)

    assert "stands alone" in (error := failure(source_of(workspace, f"file://{other}"))) or "itself" in error


@pytest.mark.parametrize("path", ["pack", "pack/{pack}", "{object}", "{object}/{rest}", "info"])
def test_a_folder_with_links_among_its_objects_is_refused(workspace, repository, tmp_path, path):
    head = repository.head()
    pack = "pack-1.pack"
    inside = path.format(pack=pack, object=head[:2], rest=head[2:])
    other = WrittenRepository(tmp_path / "served" / "other")
    link = other.root / ".git/objects" / inside
    if link.is_dir():
        link.rmdir()
    link.parent.mkdir(exist_ok=True)
    link.symlink_to(repository.root / ".git/objects" / inside)

    assert "stands alone" in failure(source_of(workspace, other.url))


def test_a_repository_whose_name_begins_with_the_folders_is_not_read_instead(workspace, repository, tmp_path):
    beside = tmp_path / "served" / "plain"
    beside.mkdir()
    repository.root.rename(tmp_path / "served" / "plain.git")

    assert "no repository" in failure(source_of(workspace, f"file://{beside}"))


def test_another_users_repository_that_is_allowed_by_name_is_read(repository, source):
    if os.geteuid() != 0:
        pytest.skip("only root can give a folder away")
    for folder, names, files in os.walk(repository.root):
        for name in (".", *names, *files):
            os.chown(os.path.join(folder, name), 65_534, 65_534)  # noqa: PTH118  # what os.walk gives

    assert counts(sync(source))["new"] == 2


def test_a_repository_with_sha256_names_is_read(workspace, tmp_path):
    root = tmp_path / "sha256"
    root.mkdir()
    subprocess.run(["git", "init", "-q", "-b", "main", "--object-format=sha256", str(root)], check=True)  # noqa: S607
    repository = WrittenRepository.__new__(WrittenRepository)
    repository.root = root
    repository.commit({"a.md": "alpha\n"})
    source = source_of(workspace, repository.url)

    assert counts(sync(source)) == {"seen": 1, "new": 1, "parser_calls": 1}
    assert len(Document.objects.get().source_revision) == 64


def test_the_copy_is_one_workers_at_a_time(source, monkeypatch):
    monkeypatch.setattr("ingest.connectors.git.place._PATIENCE_S", 0.0)
    place = Place.of(source.workspace_id, source.pk)
    with locked(place, lambda: None):
        with pytest.raises(RepositoryBusy):
            locked(place, lambda: None).__enter__()
        job = work(request_sync(source))
    assert (job.state, job.lease_until is not None) == ("running", True)
    with locked(place, lambda: None):
        pass


def test_nobody_else_on_the_machine_gets_at_a_copy(source):
    with locked(place := Place.of(source.workspace_id, source.pk), lambda: None):
        assert stat.S_IMODE(place.folder.parent.parent.stat().st_mode) == 0o700


def test_an_address_as_such_needs_no_name_held_to_it(tmp_path):
    for url, is_held in (("https://[2001:db8::1]/a", False), ("https://x.org/a", True)):
        with git_environment(Place(tmp_path), read_address(url), ["2001:db8::1"], None) as environment:
            assert ("x.org:443:[2001:db8::1]" in environment.values()) is is_held


def test_a_child_keeps_the_lock_of_a_worker_that_was_killed(source):
    place = Place.of(source.workspace_id, source.pk)
    with locked(place, lambda: None) as lock:
        child = subprocess.Popen(["sleep", "600"], pass_fds=(lock,))  # noqa: S607
    try:
        with pytest.raises(InterruptedError):
            locked(place, _stop).__enter__()
    finally:
        child.kill()
        child.wait()
    with locked(place, _stop):
        pass


def _stop():
    raise InterruptedError


def test_a_job_that_broke_off_leaves_the_lock_to_the_next(source, monkeypatch):
    with monkeypatch.context() as broken:
        broken.setattr(ItemWorker, "run", lambda self: 1 / 0)
        work(request_sync(source))
    with locked(Place.of(source.workspace_id, source.pk), _stop):
        pass
