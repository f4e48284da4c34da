"""No verb gives an argument of its own a name that Django reads: `settings` would be a module."""

import argparse

import pytest
from django.core.management import get_commands, load_command_class

_DJANGOS = {"settings", "pythonpath", "traceback", "no_color", "force_color", "skip_checks", "verbosity"}
_VERBS = sorted(
    name for name, app in get_commands().items() if app.split(".")[0] in {"kebab", "search", "ingest"}
)


def _actions(parser):
    for action in parser._actions:
        yield action
        if isinstance(action, argparse._SubParsersAction):
            for below in action.choices.values():
                yield from _actions(below)


@pytest.mark.parametrize("verb", _VERBS)
def test_arguments_leave_djangos_names_alone(verb):
    parser = load_command_class(get_commands()[verb], verb).create_parser("kebab", verb)
    own = [each for each in _actions(parser) if each.dest in _DJANGOS]

    assert [each.dest for each in own if f"--{each.dest.replace('_', '-')}" not in each.option_strings] == []


def test_the_verbs_of_all_parts_are_looked_at():
    assert {"workspace", "search", "eval"} <= set(_VERBS)
