"""What has a say before a workspace's settings change, and what follows once they have.

Parts above this one register: a guard looks at a change before it is made, and may refuse it; a follower
begins, in the change's own transaction, what the new settings ask for.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

from kebab.people.access.caller import Access
from kebab.people.models import Workspace
from kebab.people.workspace_settings.registry import merged, preferences


@dataclass(frozen=True, slots=True, kw_only=True)
class SettingsChange:
    """Settings of a workspace, as they are and as they are to be."""

    access: Access
    #: As it is stored now.
    workspace: Workspace
    #: The workspace with the settings it is to have; not stored.
    proposed: Workspace
    #: The settings in force that differ.
    changed: frozenset[str]
    #: Whether the caller wants it whatever a guard finds.
    is_forced: bool
    #: Called after each step of what takes long; what it raises passes. None: a request waits for the answer,
    #: so what takes long is refused.
    advance: Callable[[], None] | None = None


#: Gives what the audit log is to hold of what it found, {} for nothing. Raises an error of a known tree.
Guard = Callable[[SettingsChange], Mapping[str, Any]]
#: Begins what follows from changed settings: of the stored workspace, by the names that changed.
Follower = Callable[[Access, Workspace, frozenset[str]], None]

_guards: list[Guard] = []
_followers: list[Follower] = []


def register_guard(guard: Guard) -> None:
    """Have `guard` look at every change of settings before it is made."""
    if guard not in _guards:
        _guards.append(guard)


def register_follower(follower: Follower) -> None:
    """Have `follower` begin what changed settings ask for."""
    if follower not in _followers:
        _followers.append(follower)


@dataclass(frozen=True, slots=True, kw_only=True)
class Examined:
    """What the guards found of a change."""

    #: The stored settings that they looked at.
    seen: Mapping[str, Any]
    facts: Mapping[str, Any] = field(default_factory=dict)


def proposed_workspace(workspace: Workspace, settings: Mapping[str, Any]) -> Workspace:
    """Return a copy of `workspace` whose settings have `settings` merged in; it is never to be saved."""
    return Workspace(
        pk=workspace.pk,
        corpus_id=workspace.corpus_id,
        slug=workspace.slug,
        name=workspace.name,
        head_seq=workspace.head_seq,
        settings=merged(workspace.settings, settings),
    )


def differing(before: Workspace, after: Workspace) -> frozenset[str]:
    """Return the names of the settings in force that differ between the two."""
    old, new = preferences(before), preferences(after)
    return frozenset(name for name in old if old[name] != new[name])


def examine(
    access: Access,
    workspace: Workspace,
    settings: Mapping[str, Any],
    *,
    is_forced: bool,
    advance: Callable[[], None] | None = None,
) -> Examined:
    """Have every guard look at `workspace` with `settings` merged in. Raises what a guard refuses it with."""
    proposed = proposed_workspace(workspace, settings)
    changed = differing(workspace, proposed)
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
        for guard in _guards:
            facts |= guard(change)
    return Examined(seen=dict(workspace.settings), facts=facts)


def follow(access: Access, workspace: Workspace, changed: frozenset[str]) -> None:
    """Begin what the changed settings of `workspace` ask for."""
    if changed:
        for follower in _followers:
            follower(access, workspace, changed)
