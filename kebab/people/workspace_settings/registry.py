"""Settings of a workspace, which apps name in their extensions."""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from functools import lru_cache
from typing import Any, Literal

from django.utils.functional import Promise
from django.utils.translation import gettext as _

from kebab import contributions
from kebab.identity.caller import MANAGERS, Access, Need
from kebab.identity.models import Workspace

#: The pages of the settings.
Section = Literal["general", "search", "retention"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Preference:
    """One setting of a workspace."""

    name: str
    default: Any
    #: Returns the value to store. Raises ValueError with the problem and the remedy.
    validate: Callable[[Any], Any]
    #: Its label on the settings page.
    label: "str | Promise"
    #: Its effect and the values it takes.
    about: "str | Promise"
    #: Returns the possible values with their labels, if they are few.
    choices: "Callable[[], Iterable[tuple[str, str | Promise]]] | None" = None
    #: The settings page that it is on; None: it has a page of its own, and is not listed with the others.
    section: Section | None = "search"
    #: Whether it affects ranking from the next query on, so that an evaluation may try other values.
    ranks: bool = False
    #: What changing it needs, whatever the interface.
    need: Need = MANAGERS
    #: Returns what the audit log keeps of a value.
    summarise: Callable[[Any], Any] = lambda value: value


def known_preferences() -> Mapping[str, Preference]:
    """Return all settings by name, in the order of the settings page."""
    return _index(contributions.extensions())


@lru_cache(maxsize=1)
def _index(extensions: tuple[Any, ...]) -> Mapping[str, Preference]:
    return {each.name: each for every in extensions for each in every.preferences}


def check_rights(access: Access, names: Iterable[str]) -> None:
    """Raise Forbidden unless the caller may change all of these settings."""
    for name in names:
        if name in known_preferences():
            known_preferences()[name].need.check(access)


def summarise(settings: Mapping[str, Any]) -> dict[str, Any]:
    """Return what the audit log keeps of settings."""
    known = known_preferences()
    return {
        name: known[name].summarise(value) if name in known else value for name, value in settings.items()
    }


def shown_settings(access: Access, settings: Mapping[str, Any]) -> dict[str, Any]:
    """Return settings for the caller: of those that they may not change, what the audit log keeps."""
    known = known_preferences()
    hidden = {name for name in settings if name in known and not known[name].need.allows(access)}
    return {**settings, **summarise({name: settings[name] for name in hidden})}


def ranking_preferences() -> frozenset[str]:
    """Return the names of the settings that affect ranking."""
    return frozenset(name for name, known in known_preferences().items() if known.ranks)


def preference(workspace: Workspace, name: str) -> Any:
    """Return the workspace's value of a setting, or the default. Raises KeyError for an unknown one."""
    return workspace.settings.get(name, default_of(name))


def default_of(name: str) -> Any:
    """Return the default of a setting. Raises KeyError for an unknown one."""
    return known_preferences()[name].default


def preferences(workspace: Workspace) -> dict[str, Any]:
    """Return the effective value of every setting that is listed, by name."""
    listed = (name for name, known in known_preferences().items() if known.section is not None)
    return {name: preference(workspace, name) for name in sorted(listed)}


def clean_preferences(given: Mapping[str, Any]) -> tuple[dict[str, Any], dict[str, str]]:
    """Return the valid part of `given` and the errors of the rest, by name. None restores the default."""
    known = known_preferences()
    unknown = f"There is no such setting; there are: {', '.join(sorted(known)) or 'none'}."
    clean: dict[str, Any] = {}
    wrong: dict[str, str] = {}
    for name, value in given.items():
        try:
            clean[name] = value if value is None else known[name].validate(value)
        except KeyError:
            wrong[name] = unknown
        except ValueError as error:
            wrong[name] = str(error)
    return clean, wrong


def merge_settings(stored: Mapping[str, Any], changes: Mapping[str, Any]) -> dict[str, Any]:
    """Return `stored` with `changes` applied; None removes a setting."""
    return {name: value for name, value in {**stored, **changes}.items() if value is not None}


def integer_between(least: int, most: int) -> Callable[[Any], int]:
    """Return a validator of integers, bounds included."""

    def validate(value: Any) -> int:
        if isinstance(value, bool) or not isinstance(value, int) or not least <= value <= most:
            raise ValueError(
                _("%(value)r is not a whole number from %(least)s to %(most)s.")
                % {"value": value, "least": least, "most": most}
            )
        return value

    return validate


def number_between(least: float, most: float) -> Callable[[Any], float]:
    """Return a validator of numbers, bounds included."""

    def validate(value: Any) -> float:
        if isinstance(value, bool) or not isinstance(value, int | float) or not least <= value <= most:
            raise ValueError(
                _("%(value)r is not a number from %(least)s to %(most)s.")
                % {"value": value, "least": least, "most": most}
            )
        return float(value)

    return validate


def one_of(choices: Callable[[], tuple[str, ...]]) -> Callable[[Any], str]:
    """Return a validator of the choices that there are when it is called."""

    def validate(value: Any) -> str:
        known = choices()
        if value not in known:
            raise ValueError(
                _("%(value)r is not one of %(known)s.") % {"value": value, "known": ", ".join(known)}
            )
        return str(value)

    return validate


def boolean(value: Any) -> bool:
    """Return a boolean as it is. Raises ValueError."""
    if not isinstance(value, bool):
        raise ValueError(f"{value!r} is not true or false.")
    return value
