"""How verbs end: any error as one line or one error.v1, and with exit code 2."""

import argparse
import io
import json
import os
import subprocess
import sys

import pytest
from django.core.exceptions import ImproperlyConfigured
from django.core.management import call_command

from ingest.cli.targets import target
from kebab.cli.console import plain, write_json
from kebab.cli.parser import given_path
from kebab.cli.verb import BaseVerb
from kebab.stack.errors import HostUnknown
from kebab.stack.reachability import check_port
from tests.cli.running import error_of

_NOT_UTF8 = "caf\udce9"


class Terminal(io.StringIO):
    def isatty(self):
        return True


@pytest.fixture
def ending_with(db):
    """Run a verb that raises the error; give exit code and what stderr got."""

    def end(error, *arguments, stderr=None):
        class Verb(BaseVerb):
            def run_verb(self, **_):
                raise error

        told = io.StringIO() if stderr is None else stderr
        with pytest.raises(SystemExit) as ended:
            call_command(Verb(), *arguments, stdout=io.StringIO(), stderr=told)
        return ended.value.code, told.getvalue()

    return end


def kebab(*arguments, **environment):
    """Run the command in a process of its own; give exit code, stdout and stderr."""
    done = subprocess.run(
        [sys.executable, "-m", "kebab", *arguments],
        env={**os.environ, **environment},
        capture_output=True,
        text=True,
        check=False,
    )
    return done.returncode, done.stdout, done.stderr


def test_a_defect_is_told_as_error_v1_and_is_an_error(ending_with, caplog):
    code, told = ending_with(KeyError("shelf"), "--json")
    assert code == 2
    error = json.loads(told)
    assert (error["schema_version"], error["code"]) == ("error.v1", "internal_error")
    assert "KeyError" in error["message"]
    assert "KEBAB_DEBUG=1" in error["message"]
    assert not caplog.records


def test_a_person_is_told_a_defect_in_one_line(ending_with, caplog):
    code, told = ending_with(KeyError("shelf"), stderr=Terminal())
    assert code == 2
    assert told.startswith("error: An unexpected KeyError: 'shelf'.")
    assert told.count("\n") == 1
    assert not caplog.records


@pytest.mark.parametrize("stderr", [io.StringIO, Terminal])
def test_a_defect_is_logged_with_where_it_was_for_a_log_and_on_demand(ending_with, settings, caplog, stderr):
    settings.DEBUG = stderr is Terminal
    code, told = ending_with(KeyError("shelf"), stderr=stderr())
    assert code == 2
    assert "KEBAB_DEBUG" not in told
    assert [record.exc_info[0] for record in caplog.records] == [KeyError]


def test_a_setting_that_a_verb_finds_wrong_is_told(ending_with):
    assert ending_with(ImproperlyConfigured("KEBAB_X is odd.")) == (2, "error: KEBAB_X is odd.\n")


@pytest.mark.parametrize(
    ("environment", "said"),
    [
        ({"KEBAB_PORT": "abc"}, "KEBAB_PORT is 'abc'; give a whole number."),
        ({"DATABASE_URL": "postgres://x/y", "KEBAB_SECRET_KEY": ""}, "KEBAB_SECRET_KEY is not set"),
        ({"KEBAB_DATA_DIR": "~nobody-of-that-name/x"}, "nobody of that name has a home here"),
    ],
)
def test_a_wrong_setting_is_an_error_of_every_verb(environment, said, tmp_path):
    environment = {"KEBAB_DATA_DIR": str(tmp_path), **environment}
    code, out, err = kebab("status", "--json", **environment)
    error = json.loads(err)
    assert (code, out, error["schema_version"], error["code"]) == (2, "", "error.v1", "wrong_settings")
    assert said in error["message"]
    code, out, err = kebab("status", **environment)
    assert (code, out) == (2, "")
    assert err.startswith("error: ")
    assert err.count("\n") == 1


def test_an_unknown_verb_is_an_error_that_names_the_likely_one(tmp_path):
    code, out, err = kebab("serch", KEBAB_DATA_DIR=str(tmp_path))
    assert (code, out) == (2, "")
    assert "There is no verb 'serch'. Did you mean search?" in err
    code, out, err = kebab("nosuch", "--json", KEBAB_DATA_DIR=str(tmp_path))
    assert (code, out, json.loads(err)["code"]) == (2, "", "invalid_arguments")


def test_the_home_of_nobody_and_an_empty_path_are_refused():
    for text in ("~nobody-of-that-name/x", "", "  "):
        with pytest.raises(argparse.ArgumentTypeError):
            given_path(text)
        with pytest.raises(argparse.ArgumentTypeError):
            target(text)


@pytest.mark.parametrize(
    "arguments",
    [["search", _NOT_UTF8], ["workspace", "create", _NOT_UTF8], ["search", "apple", "--tag", _NOT_UTF8]],
)
def test_text_that_is_not_utf8_is_refused(workspace, arguments):
    error = error_of(*arguments, code=2)
    assert error["code"] == "invalid_arguments"
    assert "not UTF-8" in error["message"]


def test_a_folder_that_can_not_be_kept_as_a_source_is_refused(tmp_path):
    (tmp_path / _NOT_UTF8).mkdir()
    with pytest.raises(argparse.ArgumentTypeError, match="rename it"):
        target(str(tmp_path / _NOT_UTF8))


def test_a_path_that_is_not_utf8_is_printed_all_the_same():
    assert plain(_NOT_UTF8) == "caf\ufffd"
    out = io.StringIO()
    write_json(out, {"file": _NOT_UTF8})
    assert out.getvalue().encode()
    assert json.loads(out.getvalue()) == {"file": _NOT_UTF8}


@pytest.mark.parametrize(("host", "port"), [("nosuch.invalid", 0), ("a" * 80, 0), ("127.0.0.1", 99_999)])
def test_an_address_that_there_is_not_is_refused(host, port):
    with pytest.raises(HostUnknown):
        check_port(host, port)
