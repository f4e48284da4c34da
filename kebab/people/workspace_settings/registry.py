"""The settings a workspace may have. Each is registered by the part that reads it."""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from kebab.people.models import Workspace


@dataclass(frozen=True, slots=True, kw_only=True)
class Preference:
    """One setting of a workspace."""

    name: str
    default: Any
    #: Gives the value as it is to be stored. Raises ValueError with what is wrong and the remedy.
    validate: Callable[[Any], Any]
    #: Whether the order of hits depends on it from the next query on: an evaluation may try another value.
    ranks: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Words:
    """What people are told of a setting, where they change it."""

    label: str
    #: What it does and which values it takes.
    about: str
    #: Gives the values that there are, with how each is called, where they are few.
    choices: Callable[[], Iterable[tuple[str, str]]] | None = None


_known: dict[str, Preference] = {}
_words: dict[str, Words] = {}


def register_preference(
    name: str, default: Any, validate: Callable[[Any], Any], *, ranks: bool = False
) -> None:
    """Let workspaces have the setting `name`. `validate` gives the clean value or raises ValueError.

    With `ranks` it is one that the order of hits depends on from the next query on.
    """
    _known[name] = Preference(name=name, default=default, validate=validate, ranks=ranks)


def describe_preference(
    name: str, label: str, about: str, *, choices: Callable[[], Iterable[tuple[str, str]]] | None = None
) -> None:
    """Say in words what the setting `name` does."""
    _words[name] = Words(label=label, about=about, choices=choices)


def known_preferences() -> list[tuple[Preference, Words]]:
    """Return all settings with their words, in the order that these were given; those without come last."""
    without = {name: Words(label=name, about="") for name in sorted(_known) if name not in _words}
    return [(_known[name], words) for name, words in {**_words, **without}.items() if name in _known]


def ranking_preferences() -> frozenset[str]:
    """Return the names of the settings that the order of hits depends on."""
    return frozenset(name for name, known in _known.items() if known.ranks)


def preference(workspace: Workspace, name: str) -> Any:
    """Return the workspace's value of a registered setting, or the default. Raises KeyError if
    unregistered.
    """
    return workspace.settings.get(name, _known[name].default)


def default_of(name: str) -> Any:
    """Return what holds where a workspace has not set it. Raises KeyError if unregistered."""
    return _known[name].default


def preferences(workspace: Workspace) -> dict[str, Any]:
    """Return all settings as they are in force, by name."""
    return {name: preference(workspace, name) for name in sorted(_known)}


def clean_preferences(given: Mapping[str, Any]) -> tuple[dict[str, Any], dict[str, str]]:
    """Return the valid part of `given` and, by name, what is wrong with the rest. None: the default again."""
    clean: dict[str, Any] = {}
    wrong: dict[str, str] = {}
    for name, value in given.items():
        try:
            clean[name] = value if value is None else _known[name].validate(value)
        except KeyError:
            wrong[name] = f"There is no such setting; there are: {', '.join(sorted(_known)) or 'none'}."
        except ValueError as error:
            wrong[name] = str(error)
    return clean, wrong


def merged(stored: Mapping[str, Any], changes: Mapping[str, Any]) -> dict[str, Any]:
    """Return `stored` with `changes` applied; a None takes a setting out."""
    return {name: value for name, value in {**stored, **changes}.items() if value is not None}
