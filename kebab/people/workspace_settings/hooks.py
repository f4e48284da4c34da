"""Hooks on changes of a workspace's settings: guards before a change, followers after it.

Extensions name them: a guard checks a change before it is made, and may refuse it; a follower
starts, in the change's own transaction, the work that the new settings require.
"""

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, Final

from django.utils.translation import gettext
from django.utils.translation import gettext_lazy as _

from kebab.contributions import contributions
from kebab.http.security_headers import ALLOWED_ORIGINS
from kebab.identity.caller import Access
from kebab.identity.models import Workspace
from kebab.people.workspace_settings.registry import Preference, known_preferences, merge_settings, preference


@dataclass(frozen=True, slots=True, kw_only=True)
class SettingsChange:
    """A proposed change of a workspace's settings."""

    access: Access
    #: The workspace as it is stored.
    workspace: Workspace
    #: The workspace with the new settings; not stored.
    proposed: Workspace
    #: The names of the effective settings that differ.
    changed: frozenset[str]
    #: Whether the caller wants the change even if a guard objects.
    is_forced: bool
    #: Called after each step of long work; its exceptions propagate. None: a request waits for the answer, so
    #: long work is refused.
    advance: Callable[[], None] | None = None


#: Returns facts for the audit log, {} for none. Raises an error of a known tree to refuse the change.
Guard = Callable[[SettingsChange], Mapping[str, Any]]
#: Starts work required by changed settings; gets the stored workspace and the changed names.
Follower = Callable[[Access, Workspace, frozenset[str]], None]


@dataclass(frozen=True, slots=True, kw_only=True)
class GuardFindings:
    """The guards' findings on a change."""

    #: The stored settings that the guards saw.
    seen: Mapping[str, Any]
    facts: Mapping[str, Any] = field(default_factory=dict)


def proposed_workspace(workspace: Workspace, settings: Mapping[str, Any]) -> Workspace:
    """Return a copy of `workspace` with `settings` merged into its own; it must not be saved."""
    return Workspace(
        pk=workspace.pk,
        corpus_id=workspace.corpus_id,
        slug=workspace.slug,
        name=workspace.name,
        head_seq=workspace.head_seq,
        settings=merge_settings(workspace.settings, settings),
    )


def changed_settings(before: Workspace, after: Workspace) -> frozenset[str]:
    """Return the names of the effective settings that differ between the two."""
    return frozenset(
        name for name in known_preferences() if preference(before, name) != preference(after, name)
    )


def run_guards(
    access: Access,
    workspace: Workspace,
    settings: Mapping[str, Any],
    *,
    is_forced: bool,
    advance: Callable[[], None] | None = None,
) -> GuardFindings:
    """Let every guard check `workspace` with `settings` merged in. Raises the error of a refusing guard."""
    proposed = proposed_workspace(workspace, settings)
    changed = changed_settings(workspace, proposed)
    facts: dict[str, Any] = {}
    if changed:
        change = SettingsChange(
            access=access,
            workspace=workspace,
            proposed=proposed,
            changed=changed,
            is_forced=is_forced,
            advance=advance,
        )
        for guard in contributions("settings_guards"):
            facts |= guard(change)
    return GuardFindings(seen=dict(workspace.settings), facts=facts)


def run_followers(access: Access, workspace: Workspace, changed: frozenset[str]) -> None:
    """Let every follower start the work that the changed settings of `workspace` require."""
    if changed:
        for follower in contributions("settings_followers"):
            follower(access, workspace, changed)


MAX_ORIGINS: Final = 50
_ORIGIN = re.compile(r"https?://[a-z0-9](?:[a-z0-9.-]*[a-z0-9])?(?::[0-9]{1,5})?", re.ASCII)


def clean_origins(value: Any) -> str:
    """Return origins separated by blanks, each once. Raises ValueError, naming the one that is none."""
    origins = list(dict.fromkeys(value.split())) if isinstance(value, str) else [value]
    for origin in origins:
        if not isinstance(origin, str) or (origin != "*" and _ORIGIN.fullmatch(origin) is None):
            raise ValueError(
                gettext("%(origin)r is not an origin; write https://docs.example.com, or * for any.")
                % {"origin": origin}
            )
    if len(origins) > MAX_ORIGINS:
        raise ValueError(
            gettext("There are %(n)d origins; give %(most)d at most.")
            % {"n": len(origins), "most": MAX_ORIGINS}
        )
    return " ".join(origins)


ORIGINS = Preference(
    name=ALLOWED_ORIGINS,
    default="",
    validate=clean_origins,
    label=_("Websites allowed to search (CORS)"),
    about=_(
        "Their pages may search with a token: https://docs.example.com, separated by spaces. * allows any."
    ),
    section="general",
)
