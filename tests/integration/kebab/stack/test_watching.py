"""A watched folder with the whole stack at work."""

import json
import os
import signal

import pytest

from tests.support.stack import eventually

pytestmark = pytest.mark.slow


def paths(verbs) -> set[str]:
    listed = json.loads(verbs.run("list", "documents", "--json").stdout)
    return {row["path"] for row in listed["rows"]}


def found(verbs, words: str) -> set[str]:
    done = verbs.run("search", words, "--mode", "lexical", "--json")
    return {hit["doc_path"] for hit in json.loads(done.stdout)["hits"]} if done.returncode == 0 else set()


def test_watched_folder_is_synced_also_after_its_watcher_was_killed(verbs, tmp_path):
    folder = tmp_path / "docs"
    folder.mkdir()
    (folder / "first.md").write_text("# First\n")
    verbs.up()
    done = verbs.run("ingest", str(folder), "--workspace", "w", "--create", "--watch", "--no-embed", "--json")
    assert done.returncode == 0, done.stderr

    (folder / "second.md").write_text("# Second\n")
    eventually(lambda: found(verbs, "second") == {"second.md"}, "the new file is searchable")
    assert paths(verbs) == {"first.md", "second.md"}
    before = verbs.pids()["watch"]
    os.kill(before, signal.SIGKILL)
    eventually(lambda: verbs.pids().get("watch", before) != before, "the watcher is back")
    (folder / "first.md").unlink()
    eventually(lambda: paths(verbs) == {"second.md"}, "the file that went is forgotten")
