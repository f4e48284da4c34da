"""`kebab api`, the completion, and the commands that `kebab api` has replaced."""

import io
import json
import os
import subprocess
import sys

import pytest

from kebab.cli import dispatch
from kebab.cli.catalogue import COMMANDS, REPLACED, TASKS
from kebab.cli.client.commands import api
from kebab.cli.client.terminal import Terminal
from kebab.cli.in_process import this_process
from kebab.exit_codes import Exit
from kebab.identity.models import AuditEvent, Membership
from kebab.people.groups import create_group
from kebab.people.operator import command_line_access
from tests.cli.commands import error_of, run, run_json
from tests.support.actors import make_person
from tests.support.corpus import make_workspace, write

GROUPS = "/workspaces/{ws}/groups"
DOCUMENTS = "/workspaces/{ws}/documents"
_PROGRAM = """
import sys
from kebab.cli.catalogue import COMMANDS
from kebab.cli.main import client_module, run
print(*(name for name in COMMANDS if client_module(name)))
run(["logout", "--json"], sys.stdout, sys.stderr)
print("django" in sys.modules)
"""


def test_request_is_sent_as_the_operator_and_its_answer_printed(workspace):
    ada = make_person("ada@example.org")
    sent = json.dumps({"email": ada.email, "role": "editor"})
    made = run_json("api", "post", "/workspaces/{ws}/members", "--data", sent)
    assert (made["user_id"], Membership.objects.get().role) == (ada.pk, "editor")
    assert AuditEvent.objects.get().actor.startswith("operator:")
    assert run("api", "DELETE", f"/workspaces/{{ws}}/members/{ada.pk}") == (Exit.DONE, "", "")
    assert not Membership.objects.exists()


def test_body_comes_from_a_file_or_standard_input(workspace, tmp_path, monkeypatch):
    file = tmp_path / "group.json"
    file.write_text('{"name": "Café"}', encoding="utf-8")
    monkeypatch.setattr("sys.stdin", io.StringIO('{"name": "legal"}'))
    assert run_json("api", "POST", GROUPS, "--data", f"@{file}")["name"] == "Café"
    assert run_json("api", "POST", GROUPS, "--data", "-")["name"] == "legal"


def test_named_workspace_takes_its_place_in_the_address(workspace):
    other = make_workspace()
    for address in ("/api/v1/workspaces/{ws}", "/workspaces/{ws}", "workspaces/{ws}"):
        assert run_json("api", "GET", address, "-w", other.slug)["slug"] == other.slug
    assert error_of("api", "GET", "/workspaces/{ws}", code=Exit.ERROR)["code"] == "workspace_needed"


def test_all_pages_of_a_list_are_printed_row_by_row(workspace, monkeypatch):
    for name in "abc":
        write(workspace, name, "apple")
    monkeypatch.setattr("kebab.cli.client.connection._PAGE_ROWS", 2)
    code, out, _ = run("api", "GET", f"{DOCUMENTS}?order=path", "--all")
    assert (code, [json.loads(line)["path"] for line in out.splitlines()]) == (Exit.DONE, ["a", "b", "c"])
    page = run_json("api", "GET", f"{DOCUMENTS}?order=path&limit=2")
    assert [row["path"] for row in page["results"]] == ["a", "b"]


def test_wrong_request_is_refused_with_the_code_of_its_error(workspace, tmp_path, subtests):
    group = create_group(command_line_access(workspace), "legal")
    for arguments, code, exit_code in (
        (("GET", f"{GROUPS}/0198a3e0-5c5c-7d10-a7a4-2f0f3c1d2e3f"), "not_found", Exit.NOTHING),
        (("GET", "/nowhere/at all/é#x"), "not_found", Exit.NOTHING),
        (("POST", GROUPS, "--data", '{"name": ""}'), "invalid_request", Exit.ERROR),
        (("POST", GROUPS, "--data", "{name}"), "invalid_arguments", Exit.ERROR),
        (("POST", GROUPS, "--data", f"@{tmp_path}/missing"), "invalid_arguments", Exit.ERROR),
        (("GET", GROUPS, "--data", "{}"), "invalid_arguments", Exit.ERROR),
        (("POST", GROUPS, "--all"), "invalid_arguments", Exit.ERROR),
        (("GET", f"{GROUPS}/{group.pk}", "--all"), "invalid_arguments", Exit.ERROR),
        (("GET", "/workspaces", "-w", workspace.slug), "invalid_arguments", Exit.ERROR),
        (("FETCH", GROUPS), "invalid_arguments", Exit.ERROR),
    ):
        with subtests.test(arguments=arguments):
            assert error_of("api", *arguments, code=exit_code)["code"] == code


class _Screen(io.StringIO):
    def isatty(self):
        return True


def test_document_is_indented_at_a_terminal_without_control_characters(workspace):
    create_group(command_line_access(workspace), "legal")
    out = _Screen()
    options = {"method": "GET", "path": GROUPS, "data": b"", "workspace": None, "all": False}
    assert api.run(this_process(), options, Terminal(out, io.StringIO(), as_json=False)) == Exit.DONE
    assert '\n      "name": "legal"' in out.getvalue()


def test_replaced_command_is_an_error_that_names_the_request(capsys, subtests):
    for name, request in REPLACED.items():
        with subtests.test(name=name), pytest.raises(SystemExit) as ended:
            dispatch.run(["kebab", name, "list", "--json"])
        error = json.loads(capsys.readouterr().err)
        assert (ended.value.code, error["code"]) == (Exit.ERROR, "invalid_arguments")
        assert request in error["message"]
    assert not REPLACED.keys() & COMMANDS.keys()


def test_commands_of_the_api_are_found_by_their_names_without_django(tmp_path):
    found = subprocess.run(
        [sys.executable, "-c", _PROGRAM],
        env={**os.environ, "XDG_CONFIG_HOME": str(tmp_path)},
        capture_output=True,
        text=True,
        check=True,
    )
    names, answer, has_django = found.stdout.splitlines()
    assert {"api", "list", "search", "workspace"} <= set(names.split())
    assert (json.loads(answer), has_django) == ({"server": None}, "False")


def test_completion_of_each_shell_has_all_commands():
    for shell in ("bash", "zsh", "fish"):
        code, out, _ = run("completion", shell)
        assert (code, all(name in out for task in TASKS.values() for name in task)) == (Exit.DONE, True)
    assert run("completion", "csh")[0] == Exit.ERROR
