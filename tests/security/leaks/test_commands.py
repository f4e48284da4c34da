"""Every command and subcommand, run for one workspace, prints nothing of another."""

import argparse
import io

import pytest
from django.core.management import CommandError, get_commands, load_command_class
from django.db import transaction

from kebab.cli.catalogue import COMMANDS
from kebab.cli.client.arguments import make_parser
from kebab.cli.client.commands.list import LISTINGS
from kebab.cli.main import client_module
from tests.cli.commands import run
from tests.security.leaks.answers import leaks_in

# Commands for the operator of the machine, which take no workspace.
_MACHINE_COMMANDS = {
    "alive",
    "backup",
    "beat",
    "changepassword",
    "completion",
    "connector",
    "createsuperuser",
    "demo",
    "doctor",
    "init",
    "login",
    "logout",
    "mcp",  # covered by tests/security/leaks/test_mcp_leaks.py
    "migrate",
    "node",
    "reseal",
    "restore",
    "status",
    "up",
    "upkeep",
    "watch",
    "web",
    "worker",
}
_W = "--workspace={ws}"
# Calls of each command with another workspace's ids; `{ws}` is the workspace that it runs for.
_CALLS = {
    "api": [
        ["GET", "/workspaces/{{ws}}/members", _W],
        ["GET", "/workspaces/{{ws}}/invitations", _W, "--all"],
        ["GET", "/workspaces/{{ws}}/groups/{group}", _W],
        ["GET", "/workspaces/{{ws}}/rules", _W],
        ["GET", "/workspaces/{{ws}}/access?token={token}", _W],
    ],
    "ask": [
        ["{word}", _W, "--mode=lexical"],
        ["workers", _W, "--source={source}", "--source={sourcekey}"],
    ],
    "context": [
        ["{word}", _W, "--term={stem}", "--overview"],
        ["workers", _W, "--source={source}", "--source={sourcekey}", "--version={tag}"],
    ],
    "eval compare": [[_W, "{baseline}", "{run}"]],
    "eval delete": [[_W, "{run}"]],
    "eval gate": [[_W, "--set=rrf_k=61"]],
    "eval run": [[_W, "--set={set}", "--modes=lexical"], [_W, "--repeat={run}"]],
    "eval runs": [[_W], [_W, "--set={set}"]],
    "eval show": [[_W, "{run}"], [_W, "{stem}run0"]],
    "eval topics delete": [[_W, "--set={set}", "--all"], [_W, "--set={set}", "{topicname}"]],
    "eval topics export": [[_W, "--set={set}"], [_W, "--set={set}", "--format=trec"]],
    "eval topics from-feedback": [[_W]],
    "eval topics import": [["/etc/passwd", _W]],
    "eval topics list": [[_W], [_W, "--set={set}"]],
    "ingest": [["/etc/passwd", _W, "--readers={stem}group"]],
    "inspect doc": [["{doc}", _W]],
    "inspect chunk": [["{chunk}", _W]],
    "inspect job": [["{job}", _W]],
    "list": [[kind, _W] for kind in LISTINGS],
    "reembed": [[_W, "--no-wait", "--embedder={stem}model"]],
    "reembed retire": [[_W, "{space}"]],
    "reembed rollback": [[_W]],
    "reembed status": [[_W]],
    "reembed switch": [[_W]],
    "search": [
        ["{word}", _W, "--mode=lexical", "--explain"],
        ["{word}", _W, "--mode=vector"],
        ["workers", _W, "--why-not={chunk}"],
        ["workers", _W, "--source={source}", "--source={sourcekey}"],
    ],
    "source restrict": [[_W, "{sourcekey}", "--open"], [_W, "open", "--to={stem}group"]],
    "source test": [[_W, "{sourcekey}"], [_W, "{source}"]],
    "source trust": [[_W, "{sourcekey}", "primary"]],
    "token create": [[_W, "--scope=search"], [_W, "--scope=search", "--group={stem}group"]],
    "token list": [[_W]],
    "workspace quota": [["{ws}"], ["{ws}", "documents=7"]],
    "workspace rename": [["{ws}", "--name=New"]],
    "workspace set": [["{ws}", "rrf_k=61"], ["{ws}"]],
}
# Commands that print only success or an error, even for a workspace with many objects.
_TERSE = {
    "eval delete",
    "eval gate",
    "eval run",
    "eval topics delete",
    "eval topics from-feedback",
    "eval topics import",
    "reembed",
    "reembed rollback",
    "reembed switch",
    "source restrict",
    "source test",
    "source trust",
    "token create",
    "workspace quota",
    "workspace rename",
    "workspace set",
}
# Subcommands that name something outside workspaces, or create or delete a workspace.
_WITHOUT_WORKSPACE = {
    "eval",  # a judged set of its own
    "export",  # its file is covered by tests/integration/search/bundles
    "import",
    "mirror",
    "mirror warm",  # as the next
    "mirror rebuild",  # prints slugs and numbers, and can't be run within a test's transaction
    "token revoke",
    "token rotate",
    "workspace create",
    "workspace delete",
}


def _command_names():
    """Yield all commands, those with subcommands once per subcommand."""
    own = {name for name, app in get_commands().items() if app.split(".")[0] in ("kebab", "search", "ingest")}
    for name in sorted(own):
        yield from _words_of(
            load_command_class(get_commands()[name], name).create_parser("kebab", name), name
        )
    for name in COMMANDS:
        if (module := client_module(name)) is not None:
            yield from _words_of(make_parser(name, name, module, (), io.StringIO()), name)


def _words_of(parser, name):
    groups = [each for each in parser._actions if isinstance(each, argparse._SubParsersAction)]
    for group in groups:
        for word, below in group.choices.items():
            yield from _words_of(below, f"{name} {word}")
    if not groups or not groups[0].required:
        yield name


def test_every_command_is_called():
    known = {*_CALLS, *_WITHOUT_WORKSPACE, *_MACHINE_COMMANDS}
    missing = {
        name for name in _command_names() if name not in known and name.split(" ")[0] not in _MACHINE_COMMANDS
    }

    assert not missing, (
        f"Say in tests/security/leaks/test_commands.py how these are called: {sorted(missing)}"
    )
    assert known - _MACHINE_COMMANDS <= set(_command_names())


_COMMANDS = sorted({name.split(" ")[0] for name in _CALLS})


def _calls_of(command):
    """Yield the subcommands of a command with the arguments of each call."""
    for name in sorted(_CALLS):
        if name.split(" ")[0] == command:
            yield from ((name, arguments) for arguments in _CALLS[name])


@pytest.mark.parametrize("command", _COMMANDS)
def test_command_for_one_workspace_prints_nothing_of_another(stage_setting, subtests, command):
    for name, arguments in _calls_of(command):
        filled = _fill(arguments, stage_setting.stage.ours, stage_setting.stage)
        for options in ([], ["--json"]):
            with subtests.test(name=name, arguments=arguments, options=options):
                output = _run_and_roll_back(*_command_line(name, filled), *options)
                assert not leaks_in(output, stage_setting.stage.hidden, _argument_values(filled))


@pytest.mark.parametrize("command", [each for each in _COMMANDS if each != "ingest"])  # it waits for its job
def test_command_prints_the_objects_of_its_own_workspace(stage_setting, subtests, command):
    for name, arguments in _calls_of(command):
        filled = _fill(arguments, stage_setting.stage.theirs, stage_setting.stage)
        with subtests.test(name=name, arguments=arguments):
            output = _run_and_roll_back(*_command_line(name, filled), "--json")
            assert leaks_in(output, stage_setting.stage.hidden, _argument_values(filled)) or name in _TERSE, (
                output
            )


def _command_line(name, arguments):
    """Return the command line; `arguments` include the subcommand where an option precedes it."""
    command, *sub = name.split(" ")
    return [command, *(each for each in sub if each not in arguments), *arguments]


def _argument_values(arguments):
    """Return the values in the call itself."""
    return {each.partition("=")[2] or each for each in arguments}


def _fill(arguments, workspace, stage):
    names = {"ws": workspace.slug, "theirs": stage.theirs.slug, **stage.hidden.ids}
    return [each.format_map(names) for each in arguments]


def _run_and_roll_back(*arguments):
    """Return the output of a command, and roll it back; wrong arguments and defects raise."""
    with transaction.atomic():
        try:
            _, out, err = run(*arguments)
        finally:
            transaction.set_rollback(True)
    if '"code": "invalid_arguments"' in err:
        raise CommandError(err)
    return out + err
