"""Comparison of the leak matrix: hidden objects are answered and logged like missing ones."""

from collections.abc import Iterator, Mapping, Sequence, Set

from tests.security.leaks.answers import Answer, captured_log, leaks_in
from tests.security.leaks.call import Call
from tests.security.leaks.callers import Caller
from tests.security.leaks.calls import CALLS
from tests.security.leaks.canaries import CLOSED, NOWHERE, THEIRS, Target
from tests.security.leaks.conftest import Setting
from tests.security.leaks.requests import send_call

#: Subjects of the calls, the first words of their routes' names.
SUBJECTS: Sequence[str] = sorted({call.subject for call in CALLS})
#: Callers that also try ids in place of slugs and HEAD in place of GET in the full matrix.
TRYING_MORE = frozenset({"nobody", "viewer", "token"})
_FIRST = {(call.route, call.method): call for call in reversed(CALLS)}
# All callers send a route's first call; its others only those who pass authentication.
_TRYING_ALL = frozenset({"stranger", "viewer", "editor", "reader", "token", "their owner"})


def calls_about(subject: str) -> list[Call]:
    """Return the calls of one subject."""
    return [call for call in CALLS if call.subject == subject]


def targets(stage_setting: Setting) -> Mapping[str, Target]:
    """Return the hidden objects by their stem."""
    return {THEIRS: stage_setting.stage.hidden, CLOSED: stage_setting.stage.closed}


def faults_of(stage_setting: Setting, call: Call, names: Set[str]) -> list[str]:
    """Return the ways in which answers and logs reveal hidden objects to the callers of these names."""
    return [
        fault
        for stem, target in targets(stage_setting).items()
        for caller in _hostile(stage_setting, stem, call)
        if caller.name in names
        for fault in faults_of_one(stage_setting, call, stem, caller, target, call.method)
    ]


def faults_of_all_callers(stage_setting: Setting, call: Call) -> list[str]:
    """Return the same for all callers, also by HEAD and by the workspace's id."""
    faults = []
    for stem, target in targets(stage_setting).items():
        for caller in _hostile(stage_setting, stem, call):
            faults += faults_of_one(stage_setting, call, stem, caller, target, call.method)
            if caller.name in TRYING_MORE and call.method == "get":
                faults += faults_of_one(stage_setting, call, stem, caller, target, "head")
            if caller.name in TRYING_MORE and stem == THEIRS:
                faults += _faults_by_id(stage_setting, call, caller, target)
    return faults


def _hostile(stage_setting: Setting, stem: str, call: Call) -> list[Caller]:
    callers = [
        caller
        for caller in stage_setting.callers.values()
        if stem in caller.hostile_to and not (call.is_for_operators and caller.name == "operator")
    ]
    is_first = _FIRST[call.route, call.method] is call
    return callers if is_first else [caller for caller in callers if caller.name in _TRYING_ALL]


def faults_of_one(
    stage_setting: Setting, call: Call, stem: str, caller: Caller, target: Target, method: str
) -> Iterator[str]:
    """Send the call with hidden and with missing ids, and compare the answers and the log."""
    missing = target.missing()
    for slug, absent_slug, is_compared in _workspaces(stage_setting, call, stem):
        with captured_log() as lines:
            hidden = send_call(caller, call, slug, target, method=method)
        absent = send_call(caller, call, absent_slug, missing, method=method)
        yield from _faults(caller, target, hidden, absent, is_compared=is_compared)
        leaked = [line for line in lines if leaks_in(line, target, hidden.given.values())]
        yield from (f"{caller.name}: logged {line}" for line in leaked)


def _workspaces(stage_setting: Setting, call: Call, stem: str) -> Iterator[tuple[str, str, bool]]:
    """Yield the workspaces to call: the hidden one, and the caller's own."""
    theirs, ours = stage_setting.stage.theirs.slug, stage_setting.stage.ours.slug
    if stem == THEIRS:
        yield theirs, theirs.replace(THEIRS, NOWHERE[THEIRS]), True
    if not call.is_fatal:
        yield ours, ours, stem in call.compared


def _faults_by_id(stage_setting: Setting, call: Call, caller: Caller, target: Target) -> Iterator[str]:
    """Compare the hidden workspace's id with its slug."""
    theirs = stage_setting.stage.theirs
    by_id, by_slug = (send_call(caller, call, str(name), target) for name in (theirs.pk, theirs.slug))
    return _faults(caller, target, by_id, by_slug, is_compared=True)


def _faults(
    caller: Caller, target: Target, hidden: Answer, absent: Answer, *, is_compared: bool
) -> Iterator[str]:
    if hidden.status >= 500:
        yield f"{caller.name}: {hidden.status} {hidden.text[:300]}"
    leaks = hidden.leaks(target)
    if leaks:
        yield f"{caller.name}: {hidden.status} tells {sorted(set(leaks))}: {hidden.text[:600]}"
    if is_compared and hidden.comparable != absent.comparable:
        yield f"{caller.name}: {hidden.comparable} and not {absent.comparable}"
