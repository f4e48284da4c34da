"""Git runs no program named by a repository, a host or the user's configuration."""

import os
import subprocess

import pytest

from ingest.connectors.git.address import parse_address
from ingest.connectors.git.environment import git_environment
from ingest.connectors.git.local_copy import CopyPaths
from search.models import Document
from tests.integration.ingest.connectors.git.documents import place_of, source_of
from tests.integration.ingest.connectors.git.repositories import WrittenRepository
from tests.support.jobs import counts, failure, indexed_texts, sync


@pytest.fixture
def mark(tmp_path):
    """Return a path that exists only if a forbidden program has run."""
    return tmp_path / "mark"


def test_git_hooks_filters_and_encodings_are_not_run(workspace, repository, source, mark):
    sync(source)
    git_dir = place_of(source).git_dir
    (git_dir / "hooks").mkdir()
    for name in ("reference-transaction", "post-checkout", "pre-auto-gc"):
        (git_dir / "hooks" / name).write_text(f"#!/bin/sh\ntouch {mark}\n")
        (git_dir / "hooks" / name).chmod(0o755)
    with (git_dir / "config").open("a") as config:
        config.write(f'[filter "evil"]\n\tsmudge = touch {mark}\n\tclean = touch {mark}\n\trequired = true\n')
        config.write(f'[diff "evil"]\n\ttextconv = touch {mark} ;\n\tcommand = touch {mark}\n')
    attributes = b"*.md filter=evil diff=evil ident export-ignore eol=crlf working-tree-encoding=UTF-16\n"
    repository.commit({"docs/a.md": "$Id$ as it is\n"})
    entry = f"100644,{repository.blob(attributes)},.gitattributes"
    repository.git("update-index", "--add", "--cacheinfo", entry)
    repository.git("commit", "--quiet", "--message=attributes")

    assert counts(sync(source))["updated"] == 1
    assert indexed_texts(workspace)["docs/a.md"] == ["$Id$ as it is"]
    assert not mark.exists()


def test_configuration_of_the_user_is_ignored(source, tmp_path, mark, monkeypatch):
    home = tmp_path / "home"
    home.mkdir()
    (home / ".gitconfig").write_text(f'[url "ext::touch {mark} "]\n\tinsteadOf = file://\n')
    monkeypatch.setenv("HOME", str(home))
    monkeypatch.setenv("GIT_CONFIG_GLOBAL", str(home / ".gitconfig"))
    monkeypatch.setenv("GIT_DIR", "/nowhere")
    monkeypatch.setenv("GIT_ALLOW_PROTOCOL", "ext")

    assert counts(sync(source))["new"] == 3
    assert not mark.exists()


def test_repository_pointing_to_another_folder_is_refused(workspace, repository, tmp_path, subtests):
    others = [tmp_path / name for name in ("alternates", "worktree", "link")]
    WrittenRepository(others[0])
    (others[0] / ".git/objects/info/alternates").write_text(f"{repository.root}/.git/objects\n")
    repository.git("worktree", "add", "--quiet", str(others[1]))
    others[2].symlink_to(repository.root)
    for other, message in zip(others, ("stands alone", "itself", "itself"), strict=True):
        with subtests.test(other=other.name):
            assert message in failure(source_of(workspace, f"file://{other}", key=other.name))


def test_folder_with_links_among_its_objects_is_refused(workspace, repository, tmp_path, subtests):
    head = repository.head()
    paths = ("pack", "pack/pack-1.pack", head[:2], f"{head[:2]}/{head[2:]}", "info")
    for key, path in enumerate(paths):
        with subtests.test(path=path):
            other = WrittenRepository(tmp_path / path.replace("/", "-"))
            link = other.root / ".git/objects" / path
            if link.is_dir():
                link.rmdir()
            link.parent.mkdir(exist_ok=True)
            link.symlink_to(repository.root / ".git/objects" / path)
            assert "stands alone" in failure(source_of(workspace, other.url, key=f"r{key}"))


def test_missing_folder_does_not_fall_back_to_its_dot_git_sibling(workspace, repository, tmp_path):
    beside = tmp_path / "plain"
    beside.mkdir()
    repository.root.rename(tmp_path / "plain.git")
    assert "no repository" in failure(source_of(workspace, f"file://{beside}"))


def test_repository_of_another_user_that_is_allowed_by_name_is_read(repository, source):
    if os.geteuid() != 0:
        pytest.skip("only root can give a folder away")
    for folder, names, files in os.walk(repository.root):
        for name in (".", *names, *files):
            os.chown(os.path.join(folder, name), 65_534, 65_534)  # noqa: PTH118  # what os.walk gives
    assert counts(sync(source))["new"] == 3


def test_repository_with_sha256_names_is_read(workspace, tmp_path):
    root = tmp_path / "sha256"
    root.mkdir()
    subprocess.run(["git", "init", "-q", "-b", "main", "--object-format=sha256", str(root)], check=True)  # noqa: S607
    repository = WrittenRepository.__new__(WrittenRepository)
    repository.root = root
    repository.commit({"a.md": "alpha\n"})

    assert counts(sync(source_of(workspace, repository.url))) == {"seen": 1, "new": 1, "parser_calls": 1}
    assert len(Document.objects.get().source_revision) == 64


def test_numeric_host_gets_no_pinned_name_resolution(tmp_path):
    for url, is_held in (("https://[2001:db8::1]/a", False), ("https://x.org/a", True)):
        with git_environment(CopyPaths(tmp_path), parse_address(url), ["2001:db8::1"], None) as environment:
            assert ("x.org:443:[2001:db8::1]" in environment.values()) is is_held
