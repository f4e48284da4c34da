"""Arguments and errors of all commands."""

import argparse
import io
import json
import os
import subprocess
import sys
from contextlib import nullcontext

import pytest
from django.core.exceptions import ImproperlyConfigured
from django.core.management import call_command, get_commands, load_command_class

from kebab.cli.catalogue import COMMANDS
from kebab.cli.client.arguments import make_parser
from kebab.cli.client.commands.status import print_status
from kebab.cli.client.connection import write_login
from kebab.cli.client.ingest_targets import target
from kebab.cli.client.terminal import Terminal as StyledTerminal
from kebab.cli.command import KebabCommand, path_argument
from kebab.cli.main import client_module
from kebab.cli.output import plain, write_json
from kebab.stack.errors import HostUnknown
from kebab.stack.servers.reachability import check_port
from tests.cli.commands import error_of, run

_NOT_UTF8 = "caf\udce9"
_DJANGOS = {"settings", "pythonpath", "traceback", "no_color", "force_color", "skip_checks", "verbosity"}
_PACKAGES = {"kebab", "search", "ingest"}
_ADMIN = "{'ingest.admin', 'search.admin', 'kebab.admin.admin'}"


class Terminal(io.StringIO):
    def isatty(self):
        return True


@pytest.fixture
def ending_with(db):
    """Return a function that runs a command which raises, and returns its exit code and stderr."""

    def end(error, *arguments, stderr=None):
        class Verb(KebabCommand):
            def run_command(self, **_):
                raise error

        message = io.StringIO() if stderr is None else stderr
        with pytest.raises(SystemExit) as ended:
            call_command(Verb(), *arguments, stdout=io.StringIO(), stderr=message)
        return ended.value.code, message.getvalue()

    return end


def python(*arguments, **environment):
    """Run Python in a process of its own; return exit code, stdout and stderr."""
    done = subprocess.run(
        [sys.executable, *arguments],
        env={**os.environ, **environment},
        capture_output=True,
        text=True,
        check=False,
    )
    return done.returncode, done.stdout, done.stderr


def test_defect_is_one_line_for_people_and_error_v1_for_programs(ending_with, caplog):
    code, message = ending_with(KeyError("shelf"), "--json")
    error = json.loads(message)
    assert (code, error["schema_version"], error["code"]) == (2, "error.v1", "internal_error")
    assert "KeyError" in error["message"]
    assert "KEBAB_DEBUG=1" in error["message"]

    code, message = ending_with(KeyError("shelf"), stderr=Terminal())
    assert (code, message.count("\n")) == (2, 1)
    assert message.startswith("error: ")
    assert "KeyError: 'shelf'" in message
    assert not caplog.records


@pytest.mark.parametrize("stderr", [io.StringIO, Terminal])
def test_defect_is_logged_for_a_log_and_when_debugging(ending_with, settings, caplog, stderr):
    settings.DEBUG = stderr is Terminal
    code, message = ending_with(KeyError("shelf"), stderr=stderr())
    assert code == 2
    assert "KEBAB_DEBUG" not in message
    assert [record.exc_info[0] for record in caplog.records] == [KeyError]


def test_setting_that_a_command_finds_wrong_is_an_error(ending_with):
    assert ending_with(ImproperlyConfigured("KEBAB_X is odd.")) == (2, "error: KEBAB_X is odd.\n")


def test_wrong_setting_is_an_error_of_every_command(tmp_path):
    wrong = {"KEBAB_DATA_DIR": str(tmp_path), "KEBAB_PORT": "abc"}
    code, out, err = python("-m", "kebab", "doctor", "--json", **wrong)
    error = json.loads(err)
    assert (code, out, error["schema_version"], error["code"]) == (2, "", "error.v1", "wrong_settings")
    assert "KEBAB_PORT is 'abc'" in error["message"]


@pytest.mark.slow
def test_other_wrong_settings_are_errors_too(tmp_path, subtests):
    for environment, named in (
        ({"DATABASE_URL": "postgres://x/y", "KEBAB_SECRET_KEY": ""}, "KEBAB_SECRET_KEY"),
        ({"KEBAB_DATA_DIR": "~nobody-of-that-name/x"}, "nobody-of-that-name"),
    ):
        environment = {"KEBAB_DATA_DIR": str(tmp_path), **environment}
        with subtests.test(named=named):
            code, out, err = python("-m", "kebab", "doctor", "--json", **environment)
            assert (code, out, json.loads(err)["code"]) == (2, "", "wrong_settings")
            assert named in json.loads(err)["message"]
            code, out, err = python("-m", "kebab", "doctor", **environment)
            assert (code, out, err.count("\n")) == (2, "", 1)
            assert err.startswith("error: ")


@pytest.mark.slow
def test_unknown_command_is_an_error_that_names_the_likely_one(tmp_path):
    code, out, err = python("-m", "kebab", "serch", "--json", KEBAB_DATA_DIR=str(tmp_path))
    error = json.loads(err)
    assert (code, out, error["code"]) == (2, "", "invalid_arguments")
    assert all(named in error["message"] for named in ("serch", "search"))


def test_missing_home_empty_path_and_path_that_is_not_utf8_are_refused(tmp_path):
    for text in ("~nobody-of-that-name/x", "", "  "):
        for parsed in (path_argument, target):
            with pytest.raises(argparse.ArgumentTypeError):
                parsed(text)
    (tmp_path / _NOT_UTF8).mkdir()
    with pytest.raises(argparse.ArgumentTypeError):
        target(str(tmp_path / _NOT_UTF8))


def test_text_that_is_not_utf8_is_refused_as_an_argument_and_printed_all_the_same(workspace, subtests):
    commands = (["search", _NOT_UTF8], ["workspace", "create", _NOT_UTF8])
    for arguments in (*commands, ["search", "apple", "--tag", _NOT_UTF8]):
        with subtests.test(arguments=arguments):
            assert error_of(*arguments, code=2)["code"] == "invalid_arguments"
    assert plain(_NOT_UTF8) == "caf\ufffd"
    out = io.StringIO()
    write_json(out, {"file": _NOT_UTF8})
    assert out.getvalue().encode()
    assert json.loads(out.getvalue()) == {"file": _NOT_UTF8}


def test_host_name_resolves_to_the_listening_address():
    assert check_port("localhost", 0) in {"127.0.0.1", "::1"}
    assert check_port("", 0) in {"0.0.0.0", "::"}  # noqa: S104  # compared with, not bound to


def test_address_that_does_not_exist_is_refused():
    for host, port in (("nosuch.invalid", 0), ("a" * 80, 0), ("127.0.0.1", 99_999)):
        with pytest.raises(HostUnknown):
            check_port(host, port)


def actions(parser):
    for action in parser._actions:
        yield action
        if isinstance(action, argparse._SubParsersAction):
            for below in action.choices.values():
                yield from actions(below)


@pytest.fixture
def logged_in(monkeypatch, tmp_path):
    """Return a function that stores a login at an address."""
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path))
    for name in ("KEBAB_SERVER", "KEBAB_TOKEN"):
        monkeypatch.delenv(name, raising=False)
    return lambda address: write_login(address, "kbb_x")


@pytest.mark.parametrize(
    "arguments", [("export", "a.kebab"), ("doctor",), ("eval", "runs"), ("node", "list")]
)
def test_command_for_this_machine_is_refused_to_who_is_logged_in_elsewhere(logged_in, arguments):
    logged_in("https://search.example.org")
    assert error_of(*arguments, code=2)["code"] == "logged_in_elsewhere"


def test_command_for_this_machine_runs_with_local_or_logged_in_to_it(logged_in, db, settings, monkeypatch):
    monkeypatch.setattr("kebab.cli.command.borrow_stack", lambda *_, **__: nullcontext())
    logged_in("https://search.example.org")
    assert run("node", "list", "--local")[0] == run("node", "--local", "list")[0] == 1
    settings.KEBAB_URL = "https://search.example.org/"
    assert run("node", "list")[0] == 1
    logged_in(f"http://localhost:{settings.KEBAB_PORT}")
    assert run("node", "list")[0] == 1


def test_status_names_the_node_of_its_mirrors_and_the_nodes_without(capsys):
    processes = [{"node": node, "role": "mirror", "is_alive": True} for node in ("a", "b")]
    mirrors = [{"node": "a", "workspace": "handbook", "lag": 0}]
    reports = {"mirrors": mirrors, "models": [{"workspace": "handbook"}]}
    print_status(
        StyledTerminal(sys.stdout, sys.stderr, as_json=False),
        {"node": "a", "is_running": True, "processes": processes, "queues": None, "reports": reports},
    )
    lines = capsys.readouterr().out.splitlines()
    assert {"Mirrors of a", "Models"} <= set(lines)
    assert lines[-1].endswith("for: b.")


def options_of(parser, *names):
    """Yield the options of a parser and of its subcommands, with the command's name."""
    for action in parser._actions:
        yield " ".join(names), action
        if isinstance(action, argparse._SubParsersAction):
            for name, each in action.choices.items():
                yield from options_of(each, *names, name)


def test_every_command_that_takes_a_workspace_takes_it_by_w(subtests):
    for name in COMMANDS:
        module = client_module(name)
        if module is not None:
            parser = make_parser(name, COMMANDS[name], module, [], io.StringIO())
        elif (package := get_commands().get(name)) is not None:
            command = load_command_class(package, name)
            command._called_from_command_line = False
            parser = command.create_parser("kebab", name)
        else:
            continue
        for named, option in options_of(parser, name):
            if "--workspace" in option.option_strings:
                with subtests.test(command=named):
                    assert "-w" in option.option_strings


@pytest.mark.parametrize(
    ("command", "shown"), [("createsuperuser", {"email", "interactive"}), ("changepassword", {"username"})]
)
def test_help_of_account_commands_has_none_of_djangos_options(command, shown):
    parser = load_command_class("kebab.admin", command).create_parser("kebab", command)
    assert {each.dest for each in parser._actions if each.help != argparse.SUPPRESS} == {"help", *shown}
    assert "Django" not in parser.format_help()


def test_command_arguments_do_not_shadow_django_options():
    apps = {name: app for name, app in get_commands().items() if app.split(".")[0] in _PACKAGES}
    assert {"export", "eval"} <= apps.keys()
    taken = {
        (name, each.dest)
        for name, app in apps.items()
        for each in actions(load_command_class(app, name).create_parser("kebab", name))
        if each.dest in _DJANGOS and f"--{each.dest.replace('_', '-')}" not in each.option_strings
    }
    assert taken == set()


@pytest.mark.slow
def test_only_processes_that_serve_the_admin_import_it():
    program = (
        f"import django, sys; django.setup(); admin = {_ADMIN};"
        " print(sorted(admin & set(sys.modules)));"
        " import kebab.urls; print(sorted(admin & set(sys.modules)))"
    )
    code, out, _ = python("-c", program)
    assert code == 0
    assert out.splitlines() == [
        "[]",
        "['ingest.admin', 'kebab.admin.admin', 'search.admin']",
    ]
