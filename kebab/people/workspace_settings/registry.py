"""The registry of workspace settings. Each is registered by the package that reads it."""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from kebab.people.models import Workspace


@dataclass(frozen=True, slots=True, kw_only=True)
class Preference:
    """One setting of a workspace."""

    name: str
    default: Any
    #: Returns the value to store. Raises ValueError with the problem and the remedy.
    validate: Callable[[Any], Any]
    #: Whether it affects ranking from the next query on, so that an evaluation may try other values.
    ranks: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class PreferenceDescription:
    """A setting's label, help text and choices on the settings page."""

    label: str
    #: Its effect and the values it takes.
    about: str
    #: Returns the possible values with their labels, if they are few.
    choices: Callable[[], Iterable[tuple[str, str]]] | None = None


_known: dict[str, Preference] = {}
_descriptions: dict[str, PreferenceDescription] = {}


def register_preference(
    name: str, default: Any, validate: Callable[[Any], Any], *, ranks: bool = False
) -> None:
    """Register the setting `name`. `validate` returns the value to store or raises ValueError.

    With `ranks` the setting affects ranking from the next query on.
    """
    _known[name] = Preference(name=name, default=default, validate=validate, ranks=ranks)


def describe_preference(
    name: str, label: str, about: str, *, choices: Callable[[], Iterable[tuple[str, str]]] | None = None
) -> None:
    """Register label, help text and choices of the setting `name`."""
    _descriptions[name] = PreferenceDescription(label=label, about=about, choices=choices)


def known_preferences() -> list[tuple[Preference, PreferenceDescription]]:
    """Return all settings in the order in which they were described; undescribed ones come last."""
    without = {
        name: PreferenceDescription(label=name, about="")
        for name in sorted(_known)
        if name not in _descriptions
    }
    return [
        (_known[name], description)
        for name, description in {**_descriptions, **without}.items()
        if name in _known
    ]


def ranking_preferences() -> frozenset[str]:
    """Return the names of the settings that affect ranking."""
    return frozenset(name for name, known in _known.items() if known.ranks)


def preference(workspace: Workspace, name: str) -> Any:
    """Return the workspace's value of a registered setting, or the default. Raises KeyError if
    unregistered.
    """
    return workspace.settings.get(name, _known[name].default)


def default_of(name: str) -> Any:
    """Return the default of a setting. Raises KeyError if unregistered."""
    return _known[name].default


def preferences(workspace: Workspace) -> dict[str, Any]:
    """Return the effective value of every setting, by name."""
    return {name: preference(workspace, name) for name in sorted(_known)}


def clean_preferences(given: Mapping[str, Any]) -> tuple[dict[str, Any], dict[str, str]]:
    """Return the valid part of `given` and the errors of the rest, by name. None restores the default."""
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


def merge_settings(stored: Mapping[str, Any], changes: Mapping[str, Any]) -> dict[str, Any]:
    """Return `stored` with `changes` applied; None removes a setting."""
    return {name: value for name, value in {**stored, **changes}.items() if value is not None}
