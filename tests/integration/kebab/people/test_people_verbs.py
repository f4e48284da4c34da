"""The verbs `workspace`, `token` and `list`, and what all verbs have in common."""

import io
import json
import sys
from contextlib import nullcontext
from datetime import datetime, timedelta

import pytest
from django.core.management import CommandError, call_command
from django.db import OperationalError
from django.utils import timezone

from kebab.api.errors import Forbidden
from kebab.cli import listings, verb
from kebab.cli.console import plain
from kebab.cli.errors import CliError, Exit
from kebab.cli.listings import register_listing
from kebab.cli.verb import BaseVerb
from kebab.people.management.commands.list import Command as ListVerb
from kebab.people.models import ApiToken, AuditEvent, Membership, Workspace
from kebab.people.tokens import mint_token, verify_token
from kebab.stack.errors import StackBusy
from tests.support.actors import make_person, make_workspace


@pytest.fixture(autouse=True)
def _servers_run_already(monkeypatch):
    monkeypatch.setattr(verb, "borrowed_stack", lambda *_, **__: nullcontext())


def run(*arguments, command=None):
    """Give exit code, stdout and stderr of a verb."""
    out, err = io.StringIO(), io.StringIO()
    name, rest = (command, arguments) if command else (arguments[0], arguments[1:])
    try:
        call_command(name, *rest, stdout=out, stderr=err)
    except SystemExit as end:
        return end.code, out.getvalue(), err.getvalue()
    return 0, out.getvalue(), err.getvalue()


def run_json(*arguments):
    code, out, err = run(*arguments, "--json")
    assert code == 0, err
    return json.loads(out)


def failing(error):
    class Failing(BaseVerb):
        def run_verb(self, **options):
            raise error

    return Failing()


def test_a_workspace_is_created_renamed_and_deleted(db):
    owner = make_person()
    made = run_json("workspace", "create", "docs", "--name", "Docs", "--owner", owner.email)
    assert (made["slug"], made["name"]) == ("docs", "Docs")
    assert Membership.objects.get().role == "owner"

    assert run("workspace", "rename", "docs", "papers", "--name", "Papers")[0] == 0
    assert Workspace.objects.get().slug == "papers"

    assert run("workspace", "delete", "papers", "--yes")[0] == 0
    assert not Workspace.objects.exists()
    acts = AuditEvent.objects.order_by("at").values_list("action", flat=True)
    assert list(acts) == ["workspace.created", "workspace.changed", "workspace.deleted"]


def test_a_workspace_is_not_deleted_without_a_yes(workspace):
    code, _, err = run("workspace", "delete", workspace.slug)

    assert code == Exit.NOTHING
    assert "--yes" in err
    assert Workspace.objects.exists()


def test_a_taken_slug_is_refused(workspace):
    code, _, err = run("workspace", "create", workspace.slug, "--json")

    assert (code, json.loads(err)["code"]) == (Exit.NOTHING, "slug_taken")


def test_a_token_is_made_and_printed_once(workspace):
    made = run_json("token", "create", "--scope", "search,ingest", "--expires", "30d", "--name", "ci")
    token = verify_token(made["token"])

    assert str(token.pk) == made["id"]
    assert token.scopes == ["ingest", "search"]
    lasts = datetime.fromisoformat(made["expires_at"]) - timezone.now()
    assert timedelta(days=29) < lasts <= timedelta(days=30)
    assert AuditEvent.objects.get().actor.startswith("operator:")


def test_for_people_only_the_token_is_on_stdout(workspace):
    code, out, err = run("token", "create", "--scope", "search")

    assert code == 0
    assert verify_token(out.strip()) is not None
    assert "only now" in err


@pytest.mark.parametrize("named_by", [lambda t: str(t.pk), lambda t: t.prefix, lambda t: f"kbb_{t.prefix}"])
def test_a_token_is_revoked_by_id_or_prefix(workspace, named_by):
    token, secret = mint_token(workspace, scopes=["search"])

    assert run("token", "revoke", named_by(token))[0] == 0
    assert verify_token(secret) is None


def test_a_token_that_is_not_there_cannot_be_revoked(db):
    assert run("token", "revoke", "kbb_aaaaaaaaaaaa")[0] == Exit.NOTHING
    assert run("token", "revoke", "what?")[0] == Exit.ERROR


@pytest.mark.parametrize("arguments", [("--scope", "all"), ("--scope", "search", "--expires", "soon"), ()])
def test_wrong_arguments_are_refused_before_anything_happens(workspace, arguments):
    with pytest.raises(CommandError):
        call_command("token", "create", *arguments)
    assert not ApiToken.objects.exists()


def test_wrong_arguments_on_the_command_line_are_error_v1_with_json(monkeypatch, capsys):
    argv = ["kebab", "list", "nonsense", "--json"]
    monkeypatch.setattr(sys, "argv", argv)
    with pytest.raises(SystemExit) as end:
        ListVerb().run_from_argv(argv)

    error = json.loads(capsys.readouterr().err)
    assert end.value.code == Exit.ERROR
    assert (error["schema_version"], error["code"]) == ("error.v1", "invalid_arguments")
    assert "nonsense" in error["message"]


def test_the_only_workspace_need_not_be_named(workspace):
    mint_token(workspace, scopes=["search"])
    assert len(run_json("list", "tokens")["rows"]) == 1

    make_workspace("second")
    code, _, err = run("list", "tokens")
    assert code == Exit.ERROR
    assert workspace.slug in err
    assert "second" in err
    assert run("list", "tokens", "--workspace", "second")[0] == Exit.NOTHING


def test_at_most_twenty_choices_are_named(db):
    for number in range(25):
        make_workspace(f"w{number:02}")
    _, _, err = run("list", "tokens", "--workspace", "nope")

    assert "w19" in err
    assert "w20" not in err


def test_a_listing_says_when_there_is_more(db):
    for number in range(3):
        make_workspace(f"w{number}")
    found = run_json("list", "workspaces", "--limit", "2")

    assert [row["slug"] for row in found["rows"]] == ["w0", "w1"]
    assert found["has_more"] is True


def test_a_listing_for_people_shows_no_control_characters(workspace, monkeypatch):
    monkeypatch.setattr(listings, "_known", listings.listings())
    register_listing("things", ("name", "tags"), lambda *_: [{"name": "a\x1b[2Jb", "tags": ["[red]", "x"]}])
    code, out, _ = run("list", "things")

    assert code == 0
    assert "\x1b" not in out
    assert "[red], x" in out


def test_plain_text_keeps_its_letters():
    assert plain("Grüße\t🥙\n") == "Grüße\t🥙\n"
    assert plain(None) == ""


@pytest.mark.parametrize(
    ("error", "code", "exit_code"),
    [
        (CliError("No.", code="no"), "no", Exit.ERROR),
        (Forbidden("You may not."), "forbidden", Exit.NOTHING),
        (OperationalError("down"), "database_unavailable", Exit.ERROR),
        (StackBusy("Another verb runs."), "stack_busy", Exit.ERROR),
    ],
)
def test_an_expected_error_is_told_in_the_form_that_was_asked_for(error, code, exit_code):
    found, out, err = run("--json", command=failing(error))
    assert (found, out) == (exit_code, "")
    document = json.loads(err)
    assert (document["schema_version"], document["code"]) == ("error.v1", code)

    found, out, err = run(command=failing(error))
    assert (found, out) == (exit_code, "")
    assert err.startswith("error: ")
    assert err.count("\n") == 1


def test_a_defect_is_not_hidden(caplog):
    code, out, err = run(command=failing(ZeroDivisionError()))
    assert (code, out) == (Exit.ERROR, "")
    assert "ZeroDivisionError" in err
    assert [record.exc_info[0] for record in caplog.records] == [ZeroDivisionError]


def test_an_interrupted_verb_ends_as_a_signal_would_end_it():
    assert run(command=failing(KeyboardInterrupt()))[0] == 130
