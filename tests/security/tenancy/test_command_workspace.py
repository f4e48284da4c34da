"""A command for one workspace sees that workspace alone: row-level security applies to commands, too."""

import pytest
from django.core.management import call_command
from django.db import connection

from kebab.cli.command import KebabCommand
from kebab.exit_codes import Exit
from kebab.tenancy.current_workspace import EVERYWHERE, workspace_setting
from tests.cli.commands import run

ROWS = ("search_", "ingest_", "people_group", "people_membership", "people_apitoken")


@pytest.mark.django_db(transaction=True)
@pytest.mark.parametrize(
    "words",
    [
        ("list", "documents"),
        ("list", "jobs"),
        ("list", "members"),
        ("list", "groups"),
        ("token", "list"),
        ("api", "GET", "/workspaces/{ws}/quarantine"),
        ("search", "secret"),
        ("inspect", "doc", "guide.md"),
        ("source", "restrict", "docs", "--open"),
        ("reembed", "status"),
    ],
    ids=" ".join,
)
def test_command_for_one_workspace_sees_it_alone(words, alpha, beta, mirrors):
    first_statements = {}

    def record(execute, sql, params, many, context):
        table = next((name for name in ROWS if f'FROM "{name}' in sql), None)
        if table is not None:
            first_statements.setdefault(workspace_setting(), sql)
        return execute(sql, params, many, context)

    with connection.execute_wrapper(record):
        assert run(*words, "--workspace", "alpha")[0] in (Exit.DONE, Exit.NOTHING)

    assert set(first_statements) == {str(alpha.id)}, first_statements
    assert workspace_setting() == EVERYWHERE


def test_command_keeps_its_workspace_until_it_ends(alpha):
    class ExampleCommand(KebabCommand):
        def run_command(self, **_):
            before = workspace_setting()
            self.act_in(alpha.workspace)
            self.seen = [before, workspace_setting()]

    verb = ExampleCommand()
    call_command(verb)
    assert verb.seen == [EVERYWHERE, str(alpha.id)]
    assert workspace_setting() == EVERYWHERE
