"""Every verb and sub-verb, told to work in one workspace, prints nothing of another."""

import argparse
import io
from contextlib import suppress

import pytest
from django.core.management import call_command, get_commands, load_command_class
from django.db import transaction

from kebab.cli.listings import listings
from tests.security.leaks.looking import leaks_in

# They run or look at the machine, for its operator; there is no workspace to name.
_OF_THE_MACHINE = {
    "alive",
    "backup",
    "beat",
    "bench",
    "changepassword",
    "createsuperuser",
    "demo",
    "doctor",
    "init",
    "mcp",  # serves what tests/security/leaks/test_mcp_leaks.py calls
    "migrate",
    "node",
    "partition",
    "reseal",
    "restore",
    "status",
    "up",
    "watch",
    "web",
    "worker",
}
_W = "--workspace={ws}"
# How each is called with another workspace's ids; `{ws}` is the workspace it is told to work in.
_EMAIL = "{stem}member-{theirs}@example.org"
_CALLS = {
    "ask": [
        ["{word}", _W, "--mode=lexical"],
        ["workers", _W, "--source={source}", "--source={sourcekey}"],
    ],
    "access": [
        [_W, f"--user={_EMAIL}"],
        [_W, "--token={token}"],
        [_W, f"--user={_EMAIL}", "--document={doc}"],
        [_W, f"--user={_EMAIL}", "--source={sourcekey}"],
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
    "group add": [[_W, "{stem}group", _EMAIL], [_W, "{group}", _EMAIL]],
    "group create": [[_W, "fresh"]],
    "group delete": [[_W, "{stem}group"], [_W, "{group}"]],
    "group list": [[_W]],
    "group remove": [[_W, "{stem}group", _EMAIL]],
    "group rename": [[_W, "{stem}group", "fresh"]],
    "ingest": [["/etc/passwd", _W, "--readers={stem}group"]],
    "inspect doc": [["{doc}", _W]],
    "inspect chunk": [["{chunk}", _W]],
    "inspect job": [["{job}", _W]],
    "list": [[kind, _W] for kind, listing in sorted(listings().items()) if listing.is_scoped],
    "member add": [[_W, "nobody@example.org"]],
    "member invite": [[_W, "nobody@example.org", "--group={stem}group"]],
    "member list": [[_W]],
    "member remove": [[_W, _EMAIL]],
    "member role": [[_W, _EMAIL, "editor"]],
    "member withdraw": [[_W, "{stem}invited@example.org"]],
    "quarantine": [[_W]],
    "quarantine delete": [[_W, "delete", "{entry}"]],
    "quarantine retry": [[_W, "retry", "{entry}"]],
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
    "token create": [[_W, "--scope=search"], [_W, "--scope=search", "--group={stem}group"]],
    "token list": [[_W]],
    "workspace quota": [["{ws}"], ["{ws}", "documents=7"]],
    "workspace rename": [["{ws}", "--name=New"]],
    "workspace set": [["{ws}", "rrf_k=61"], ["{ws}"]],
}
# Where a workspace has much to tell, these say no more than that it's done, or why it can't be.
_TERSE = {
    "eval delete",
    "eval gate",
    "eval run",
    "eval topics delete",
    "eval topics from-feedback",
    "eval topics import",
    "group create",
    "member add",
    "member invite",
    "member remove",
    "member role",
    "member withdraw",
    "quarantine delete",
    "quarantine retry",
    "reembed",
    "reembed rollback",
    "reembed switch",
    "source restrict",
    "token create",
    "workspace quota",
    "workspace rename",
    "workspace set",
}
# Sub-verbs that name a thing of no workspace, or make or delete one.
_NAMED_ALONE = {
    "eval",  # a judged set of its own
    "export",  # what is in its file is tests/integration/search/bundles' to look at
    "import",
    "mirror",
    "mirror warm",  # as the next
    "mirror rebuild",  # prints slugs and numbers, and can't be run within a test's transaction
    "token revoke",
    "token rotate",
    "workspace create",
    "workspace delete",
}


def _ours():
    return {
        name for name, app in get_commands().items() if app.split(".")[0] in ("kebab", "search", "ingest")
    }


def _verbs():
    """All verbs, those with sub-verbs by each of them."""
    for name in sorted(_ours()):
        yield from _words_of(
            load_command_class(get_commands()[name], name).create_parser("kebab", name), name
        )


def _words_of(parser, name):
    groups = [each for each in parser._actions if isinstance(each, argparse._SubParsersAction)]
    for group in groups:
        for word, below in group.choices.items():
            yield from _words_of(below, f"{name} {word}")
    if not groups or not groups[0].required:
        yield name


def test_every_verb_is_called():
    known = {*_CALLS, *_NAMED_ALONE, *_OF_THE_MACHINE}
    missing = {name for name in _verbs() if name not in known and name.split(" ")[0] not in _OF_THE_MACHINE}

    assert not missing, f"Say in tests/security/leaks/test_verbs.py how these are called: {sorted(missing)}"
    assert known - _OF_THE_MACHINE <= set(_verbs())


_COMMANDS = sorted({name.split(" ")[0] for name in _CALLS})


def _calls_of(command):
    """Yield the sub-commands of a command with the arguments of each call."""
    for name in sorted(_CALLS):
        if name.split(" ")[0] == command:
            yield from ((name, arguments) for arguments in _CALLS[name])


@pytest.mark.parametrize("command", _COMMANDS)
def test_a_command_in_one_workspace_prints_nothing_of_another(played, subtests, command):
    for name, arguments in _calls_of(command):
        filled = _filled(arguments, played.stage.ours, played.stage)
        for options in ([], ["--json"]):
            with subtests.test(name=name, arguments=arguments, options=options):
                told = _run_undone(*_words(name, filled), *options)
                assert not leaks_in(told, played.stage.hidden, _given(filled))


@pytest.mark.parametrize(
    "command", [each for each in _COMMANDS if each != "ingest"]
)  # that waits for its job
def test_in_its_own_workspace_a_command_prints_it(played, subtests, command):
    for name, arguments in _calls_of(command):
        filled = _filled(arguments, played.stage.theirs, played.stage)
        with subtests.test(name=name, arguments=arguments):
            told = _run_undone(*_words(name, filled), "--json")
            assert leaks_in(told, played.stage.hidden, _given(filled)) or name in _TERSE, told


def _words(name, arguments):
    """The command line; where an option stands before the sub-verb, `arguments` name that themselves."""
    verb, *sub = name.split(" ")
    return [verb, *(each for each in sub if each not in arguments), *arguments]


def _given(arguments):
    """What the call itself says."""
    return {each.partition("=")[2] or each for each in arguments}


def _filled(arguments, workspace, stage):
    names = {"ws": workspace.slug, "theirs": stage.theirs.slug, **stage.hidden.ids}
    return [each.format_map(names) for each in arguments]


def _run_undone(*arguments):
    """Return what a command prints, and undo what it did; a wrong argument and a defect of ours raise."""
    out, err = io.StringIO(), io.StringIO()
    with transaction.atomic():
        with suppress(SystemExit):
            call_command(*arguments, stdout=out, stderr=err)
        transaction.set_rollback(True)
    return out.getvalue() + err.getvalue()
