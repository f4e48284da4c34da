import pytest
from django.core.management.base import CommandError

from tests.cli.commands import error_of, run
from tests.drills.bench.command import Command

COMMAND = Command()


def test_invalid_and_contradictory_arguments_are_refused(tmp_path, subtests):
    for arguments, named in (
        (["--parts", "search,cooking"], "cooking"),
        (["--queries", "0"], "--queries"),
    ):
        with subtests.test(arguments=arguments), pytest.raises(CommandError, match=named):
            run(COMMAND, "budgets", *arguments)
    for arguments, named in (
        (["--path", str(tmp_path), "--workspace", "w"], "--path"),
        (["--workspace", "w", "--parts", "ingest"], "write"),
    ):
        with subtests.test(arguments=arguments):
            error = error_of(COMMAND, "budgets", *arguments, code=2)
            assert (error["code"], named in error["message"]) == ("invalid_request", True)
