import json

import pytest
from django.db import OperationalError

from kebab.cli.command import KebabCommand
from kebab.cli.errors import CliError
from kebab.cli.output import plain
from kebab.errors import Forbidden
from kebab.exit_codes import Exit
from kebab.identity.models import Workspace
from kebab.identity.tokens import mint_token
from kebab.stack.errors import StackBusy
from tests.cli.commands import error_of, run, run_json
from tests.support.actors import make_workspace


def failing(error):
    class Failing(KebabCommand):
        def run_command(self, **options):
            raise error

    return Failing()


def test_wrong_arguments_are_error_v1_with_json():
    error = error_of("list", "nonsense", code=Exit.ERROR)
    assert error["code"] == "invalid_arguments"
    assert "nonsense" in error["message"]


def test_only_workspace_need_not_be_named(db):
    workspace = make_workspace("first")
    mint_token(workspace, scopes=["search"])
    assert len(run_json("list", "tokens")["results"]) == 1
    make_workspace("second")
    code, _, err = run("list", "tokens")
    assert (code, "first" in err, "second" in err) == (Exit.ERROR, True, True)
    assert run("list", "tokens", "--workspace", "second")[0] == Exit.NOTHING


def test_environment_names_the_workspace_of_every_command(db, monkeypatch):
    make_workspace("first"), make_workspace("second")
    assert error_of("eval", "runs", code=2)["code"] == "workspace_needed"
    monkeypatch.setenv("KEBAB_WORKSPACE", "second")
    assert run("eval", "runs")[0] != 2
    assert run("list", "tokens")[0] == Exit.NOTHING


def test_at_most_twenty_choices_are_named_and_a_listing_says_when_there_is_more(db):
    for number in range(25):
        make_workspace(f"w{number:02}")
    _, _, err = run("list", "tokens", "--workspace", "nope")
    assert ("w19" in err, "w20" in err) == (True, False)
    found = run_json("list", "workspaces", "--limit", "2")
    assert [row["slug"] for row in found["results"]] == ["w00", "w01"]
    assert found["next_cursor"] is not None


def test_listing_for_people_shows_no_control_characters(db):
    Workspace.objects.filter(pk=make_workspace().pk).update(name="a\x1b[2Jb [red]")
    code, out, _ = run("list", "workspaces")
    assert code == 0
    assert "\x1b" not in out
    assert "[red]" in out
    assert plain("Grüße\t🥙\n") == "Grüße\t🥙\n"
    assert plain(None) == ""


@pytest.mark.parametrize(
    ("error", "code", "exit_code"),
    [
        (CliError("No.", code="no"), "no", Exit.ERROR),
        (Forbidden("You may not."), "forbidden", Exit.ERROR),
        (OperationalError("down"), "database_unavailable", Exit.ERROR),
        (StackBusy("Another verb runs."), "stack_busy", Exit.ERROR),
    ],
)
def test_expected_error_is_printed_in_the_requested_form(error, code, exit_code):
    found, out, err = run(failing(error), "--json")
    assert (found, out) == (exit_code, "")
    document = json.loads(err)
    assert (document["schema_version"], document["code"]) == ("error.v1", code)
    found, out, err = run(failing(error))
    assert (found, out, err.count("\n")) == (exit_code, "", 1)
    assert err.startswith("error: ")


def test_defect_is_printed_and_logged(caplog):
    code, out, err = run(failing(ZeroDivisionError()))
    assert (code, out) == (Exit.ERROR, "")
    assert "ZeroDivisionError" in err
    assert [record.exc_info[0] for record in caplog.records] == [ZeroDivisionError]


def test_interrupted_command_ends_with_130():
    assert run(failing(KeyboardInterrupt()))[0] == 130
