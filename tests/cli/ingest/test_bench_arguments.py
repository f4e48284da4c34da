import pytest
from django.core.management.base import CommandError

from tests.cli.running import error_of, run


def test_invalid_and_contradictory_arguments_of_bench_are_refused(db, tmp_path, subtests):
    for arguments, named in (
        (["--parts", "search,cooking"], "cooking"),
        (["--growth", "100,10"], "100,10"),
        (["--growth", "0"], "--growth"),
        (["--queries", "0"], "--queries"),
    ):
        with subtests.test(arguments=arguments), pytest.raises(CommandError, match=named):
            run("bench", *arguments)
    for arguments, named in (
        (["--beir", str(tmp_path)], "--peers"),
        (["--growth", "10", "--peers"], "--peers"),
        (["--growth", "10", "--workspace", "w"], "--workspace"),
        (["--workspace", "w", "--parts", "ingest"], "write"),
        (["--embed-at-most", "0", "--growth", "10"], "--embed-at-most"),
        (["--workspaces", "3", "--growth", "10"], "--workspaces"),
        (["--workspaces", "0"], "--workspaces"),
    ):
        with subtests.test(arguments=arguments):
            error = error_of("bench", *arguments, code=2)
            assert (error["code"], named in error["message"]) == ("invalid_request", True)
