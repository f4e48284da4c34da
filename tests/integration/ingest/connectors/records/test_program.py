"""Connector programs: their records, their ends, and the command that checks them."""

import json
import sys

import pytest

from ingest.errors import AddressNotAllowed
from ingest.jobs.queue.request import request_sync
from search.models import Document
from tests.cli.commands import run, run_json
from tests.support.jobs import counts, failure, indexed_texts, sync, work

START = {"type": "start", "protocol": "kebab.connector.v1"}
PROGRAM = """
import json, sys
given = json.loads(sys.stdin.readline())
for line in open({lines!r}):
    print(line.replace("GIVEN", json.dumps(given).replace('"', "'")), end="", flush=True)
{end}
"""


@pytest.fixture
def program(tmp_path, settings):
    """Return a function that sets what the program of the operator prints, and how it ends."""

    def write(*records, end=""):
        lines = tmp_path / "lines"
        lines.write_text(
            "".join(f"{each if isinstance(each, str) else json.dumps(each)}\n" for each in records)
        )
        script = tmp_path / "program.py"
        script.write_text(PROGRAM.format(lines=str(lines), end=end))
        command = [sys.executable, str(script)]
        settings.KEBAB_CONNECTORS = {"wiki": command}
        return command

    write(START)
    return write


@pytest.fixture
def source(program, make_record_source):
    config = {"program": "wiki", "options": ["space=docs"], "credentials": {"token": "s3cret"}}
    return make_record_source("program", config)


def document(path, **fields):
    return {"type": "document", "path": path, "text": f"About {path}", **fields}


def test_program_gets_its_config_and_the_last_cursor(workspace, source, program):
    program(
        START,
        document(
            "a.md", title="GIVEN", author="Ada", dated="2024-05-06", metadata={"url": "https://a.example"}
        ),
        {"type": "document", "path": "b.md", "base64": "QWJvdXQgYg=="},
        {"type": "warning", "message": "One page is locked."},
        {"type": "cursor", "state": "7"},
    )
    assert sync(source)["warnings"] == ["One page is locked."]
    found = Document.objects.get(path="a.md")
    assert (found.author, found.dated_at.year, found.metadata["url"]) == ("Ada", 2024, "https://a.example")
    assert json.loads(found.title.replace("'", '"')) == {
        "protocol": "kebab.connector.v1",
        "config": {"space": "docs"},
        "credentials": {"token": "s3cret"},
        "cursor": "",
    }
    program(START, {"type": "deleted", "path": "b.md"}, document("c.md", title="GIVEN"))
    assert counts(sync(source))["deleted"] == 1
    assert "'cursor': '7'" in Document.objects.get(path="c.md").title
    assert indexed_texts(workspace).keys() == {"a.md", "c.md"}


def test_unchanged_record_needs_no_text(workspace, source, program):
    stays = {"type": "document", "path": "a.md", "version": "1"}
    program(START, document("a.md", version="1"), {"type": "complete"})
    sync(source)
    program(START, stays, {"type": "complete"})
    assert counts(sync(source)) == {"seen": 1, "unchanged": 1}
    program(START, {**stays, "version": "2"}, {"type": "complete"})
    assert sync(source)["failed_by_reason"] == {"unreadable": 1}
    assert indexed_texts(workspace).keys() == {"a.md"}


@pytest.mark.parametrize(
    ("records", "end", "words"),
    [
        ([], "", "printed nothing"),
        ([document("b.md")], "", "the first line"),
        ([START, "no JSON"], "", "Line 2 of the program is not a record: it is not JSON"),
        ([START, {"type": "document", "path": "b.md"}], "", "is not valid under any"),
        ([START, {"type": "cursor"}], "", "'state' is a required property"),
        ([START, document("b.md", dated="soon")], "", "dated: 'soon'"),
        ([START, {"type": "document", "path": "b.md", "base64": "?"}], "", "base64"),
        ([START, {"type": "error", "message": "Login refused."}], "", "Login refused."),
        ([START], "sys.exit('broken pipe of mine')", "status 1. It says: broken pipe of mine"),
        ([START], "import os; os.kill(os.getpid(), 9)", "status -9"),
    ],
)
def test_faulty_program_changes_nothing(workspace, source, program, records, end, words):
    program(START, document("a.md"), {"type": "complete"})
    sync(source)
    program(*records, end=end)
    assert words in failure(source)
    assert indexed_texts(workspace).keys() == {"a.md"}


def test_program_that_fails_in_the_middle_stores_what_came_before(workspace, source, program):
    program(START, document("a.md"), {"type": "cursor", "state": "1"}, document("b.md"), end="sys.exit(3)")
    job = work(request_sync(source))
    assert (job.state, "status 3" in job.error) == ("failed", True)
    assert indexed_texts(workspace).keys() == {"a.md", "b.md"}
    program(START, document("c.md", title="GIVEN"))
    sync(source)
    assert "'cursor': '1'" in Document.objects.get(path="c.md").title


@pytest.mark.parametrize(
    ("records", "end"),
    [
        ([START, {"type": "error", "message": "The token s3cret is refused."}], ""),
        ([START], "sys.exit('GET https://ada@wiki.example/?token=s3cret')"),
    ],
)
def test_secrets_that_a_program_repeats_are_in_no_message(source, program, records, end):
    program(*records, end=end)
    assert "***" in (shown := failure(source))
    assert not any(secret in shown for secret in ("s3cret", "ada"))


def test_program_without_output_is_stopped_after_the_timeout(source, program, set_limits):
    set_limits(silence_s=0.1)
    program(START, end="import time; time.sleep(60)")
    assert "printed nothing for" in failure(source)


def test_program_writes_no_file_and_knows_no_secret(source, program, monkeypatch, tmp_path):
    monkeypatch.setenv("KEBAB_SECRET_KEY", "secret")
    program(
        START, document("a.md"), end="import os; assert not [name for name in os.environ if 'KEBAB' in name]"
    )
    sync(source)
    program(START, end=f"open({str(tmp_path / 'x')!r}, 'w', buffering=1).write('x\\n')")
    assert "too large" in failure(source)


def test_only_programs_of_the_operator_are_run(program, make_record_source, source, settings):
    with pytest.raises(AddressNotAllowed, match="this server has: wiki"):
        make_record_source("program", {"program": "/bin/sh"}, key="other")
    settings.KEBAB_CONNECTORS = {}
    assert "no program 'wiki'" in failure(source)


def test_check_reports_the_records_of_a_program(program):
    command = program(START, document("a.md"), {"type": "cursor", "state": "1"})
    report = run_json("connector", "check", "--option", "space=docs", *command)
    assert report["first"]["records"]["document"] == report["second"]["records"]["document"] == 1
    assert report["first"]["cursor"] == "1"
    code, _, err = run("connector", "check", *program(START, "?"))
    assert (code, "Line 2" in err) == (2, True)
