"""Run commands within the test process."""

import io
import json
from contextlib import contextmanager
from unittest import mock

from django.core.management import call_command

from kebab.cli import main
from kebab.cli.in_process import this_process


def run(*arguments):
    """Return exit code, stdout and stderr of a command; this process is the server that it talks to."""
    out, err = io.StringIO(), io.StringIO()
    try:
        if main.client_module(arguments[0]) is not None:
            with mock.patch("kebab.cli.client.connection.connect", _connect):
                return main.run([*map(str, arguments)], out, err), out.getvalue(), err.getvalue()
        call_command(*arguments, stdout=out, stderr=err)
    except SystemExit as end:
        return end.code, out.getvalue(), err.getvalue()
    return 0, out.getvalue(), err.getvalue()


@contextmanager
def _connect(needs):
    yield None if needs is None else this_process()


def run_json(*arguments, code=0):
    """Return the one JSON document that a command prints, which ends with `code` and writes nothing else."""
    found, out, err = run(*arguments, "--json")
    assert (found, err) == (code, "")
    return json.loads(out)


def error_of(*arguments, code):
    """Return the `error.v1` with which a command refuses, which prints nothing else."""
    found, out, err = run(*arguments, "--json")
    assert (found, out) == (code, "")
    error = json.loads(err)
    assert error["schema_version"] == "error.v1"
    return error
