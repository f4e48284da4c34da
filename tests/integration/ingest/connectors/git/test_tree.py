"""Hostile or unusual trees: the job ends well or fails with a reason."""

from ingest.connectors.git.source import GitSource
from search.corpus import ensure_source
from tests.integration.ingest.conftest import GIT_FILES
from tests.integration.ingest.connectors.git.documents import place_of, texts
from tests.support.jobs import counts, failure, indexed_texts, sync


def test_links_and_submodules_are_skipped_with_a_reason(workspace, repository, source):
    (repository.root / "link.md").symlink_to("README.md")
    (repository.root / "out.md").symlink_to("/etc/passwd")
    repository.git("add", "--all")
    head = repository.head()
    repository.git("update-index", "--add", "--cacheinfo", f"160000,{head},module")
    repository.git("commit", "--quiet", "--message=odd")
    report = sync(source)

    assert indexed_texts(workspace).keys() == GIT_FILES.keys()
    assert report["skipped_by_reason"] == {"link": 2, "submodule": 1}
    assert report["examples"]["submodule"] == ["module"]


def test_tree_entries_that_escape_the_root_are_skipped(workspace, repository, source):
    blob = repository.blob(b"evil\n")
    inner = repository.tree(("100644", b"x.md", blob))
    repository.commit_tree(
        ("40000", b".", inner),
        ("40000", b"..", inner),
        ("40000", b".git", inner),
        ("100644", b"a\\..\\b.md", blob),
        ("100644", b"good.md", blob),
        ("100644", b"line\nfeed.md", blob),
        ("100644", b"not\x81.md", blob),
        ("100644", b"caf\xe9.md", blob),
        ("100644", b"with#.md", blob),
    )
    report = sync(source)

    assert {path for path in indexed_texts(workspace) if "\\" not in path} == {
        "caf\u00e9.md",
        "good.md",
        "with#.md",
    }
    assert report["skipped_by_reason"] == {
        "unsafe_name": 2,
        "skipped_directory": 1,
        "control_character_in_name": 1,
        "undecodable_name": 1,
    }
    assert not (place_of(source).folder.parent / "x.md").exists()


def test_name_twice_in_a_tree_is_read_once(workspace, repository, source):
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

    assert indexed_texts(workspace).keys() - {"d"} == {"a.md", "\u00e9.md"}
    assert indexed_texts(workspace)["a.md"] == ["first"]
    assert report["skipped_by_reason"]["duplicate_path"] == 1


def test_tree_of_too_many_files_is_refused(repository, source, monkeypatch):
    with monkeypatch.context() as patch:
        patch.setattr("ingest.connectors.git.tree.MAX_FILES", 1)
        assert "1 files" in failure(source)
    monkeypatch.setattr("ingest.connectors.git.command.MAX_OUTPUT_BYTES", 1_000_000)
    name, oid, mode = b"x.md", repository.blob(b"x\n"), "100644"
    for _ in range(12):
        oid = repository.tree(*((mode, b"%d%s" % (nth, name), oid) for nth in range(10)))
        mode, name = "40000", b""
    repository.git("update-ref", "refs/heads/main", repository.git("commit-tree", oid, "-m", "bomb"))

    assert "more files" in failure(source)


def test_large_file_is_left_out_unread(repository, source, monkeypatch):
    read, content = [], GitSource.read

    def noting(self, path):
        read.append(path)
        return content(self, path)

    monkeypatch.setattr(GitSource, "read", noting)
    repository.commit({"big.py": "x = 1\n" * 100_000})
    assert sync(source)["skipped_by_reason"] == {"too_large": 1}
    assert sorted(read) == sorted(GIT_FILES)


def test_malformed_branch_name_is_never_passed_to_git(workspace, repository, subtests):
    for nth, branch in enumerate(["--upload-pack=touch mark", "-x", "a..b", "refs/../x", "a:b"]):
        with subtests.test(branch=branch):
            config = {"url": repository.url, "branch": branch}
            assert branch in failure(ensure_source(workspace, f"b{nth}", kind="git", config=config))


def test_names_that_differ_in_case_alone_are_two_documents(workspace, repository, source):
    repository.commit_tree(
        ("100644", b"README.md", repository.blob(b"loud\n")),
        ("100644", b"Readme.md", repository.blob(b"quiet\n")),
    )
    assert counts(sync(source)) == {"seen": 2, "new": 2, "parser_calls": 2}
    assert texts(workspace) == {"README.md": "loud", "Readme.md": "quiet"}
