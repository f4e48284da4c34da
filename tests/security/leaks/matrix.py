"""The comparison that the leak matrix makes: what is hidden is answered and logged like what is missing."""

from collections.abc import Iterator, Mapping, Sequence, Set

from tests.security.leaks.call import Call
from tests.security.leaks.callers import Caller
from tests.security.leaks.calls import CALLS
from tests.security.leaks.canaries import CLOSED, NOWHERE, THEIRS, Target
from tests.security.leaks.conftest import Setting
from tests.security.leaks.looking import Answer, leaks_in, logged
from tests.security.leaks.playing import play

#: What calls are about, by the first words of their routes' names; `calls_about` has those of one.
SUBJECTS: Sequence[str] = sorted({call.subject for call in CALLS})
#: Callers that try ids in place of slugs and HEAD in place of GET in the full matrix.
TRYING_MORE = frozenset({"nobody", "viewer", "token"})
_FIRST = {(call.route, call.method): call for call in reversed(CALLS)}
# A route's first call is everybody's; for its others those are enough who get further than the door.
_TRYING_ALL = frozenset({"stranger", "viewer", "editor", "reader", "token", "their owner"})


def calls_about(subject: str) -> list[Call]:
    """Return the calls of one subject."""
    return [call for call in CALLS if call.subject == subject]


def targets(played: Setting) -> Mapping[str, Target]:
    """Return what is hidden, by its stem."""
    return {THEIRS: played.stage.hidden, CLOSED: played.stage.closed}


def faults_of(played: Setting, call: Call, names: Set[str]) -> list[str]:
    """Return how answers and logs of a call tell hidden from missing, for the callers of these names."""
    return [
        fault
        for stem, target in targets(played).items()
        for caller in _hostile(played, stem, call)
        if caller.name in names
        for fault in _faults_of_one(played, call, stem, caller, target, call.method)
    ]


def faults_for_everybody(played: Setting, call: Call) -> list[str]:
    """Return the same for all callers, by HEAD and by the workspace's id too."""
    faults = []
    for stem, target in targets(played).items():
        for caller in _hostile(played, stem, call):
            faults += _faults_of_one(played, call, stem, caller, target, call.method)
            if caller.name in TRYING_MORE and call.method == "get":
                faults += _faults_of_one(played, call, stem, caller, target, "head")
            if caller.name in TRYING_MORE and stem == THEIRS:
                faults += _faults_by_id(played, call, caller, target)
    return faults


def _hostile(played: Setting, stem: str, call: Call) -> list[Caller]:
    callers = [caller for caller in played.callers.values() if stem in caller.hostile_to]
    is_first = _FIRST[call.route, call.method] is call
    return callers if is_first else [caller for caller in callers if caller.name in _TRYING_ALL]


def _faults_of_one(
    played: Setting, call: Call, stem: str, caller: Caller, target: Target, method: str
) -> Iterator[str]:
    """Play the call with hidden and with missing ids, and compare the answers and the log."""
    missing = target.missing()
    for slug, absent_slug, is_compared in _workspaces(played, call, stem):
        with logged() as lines:
            hidden = play(caller, call, slug, target, method=method)
        absent = play(caller, call, absent_slug, missing, method=method)
        yield from _faults(caller, target, hidden, absent, is_compared=is_compared)
        told = [line for line in lines if leaks_in(line, target, hidden.given.values())]
        yield from (f"{caller.name}: logged {line}" for line in told)


def _workspaces(played: Setting, call: Call, stem: str) -> Iterator[tuple[str, str, bool]]:
    """Yield below which workspaces to ask: the hidden one, and the caller's own."""
    theirs, ours = played.stage.theirs.slug, played.stage.ours.slug
    if stem == THEIRS:
        yield theirs, theirs.replace(THEIRS, NOWHERE[THEIRS]), True
    if not call.is_fatal:
        yield ours, ours, stem in call.compared


def _faults_by_id(played: Setting, call: Call, caller: Caller, target: Target) -> Iterator[str]:
    """Compare the hidden workspace's id with its slug."""
    theirs = played.stage.theirs
    by_id, by_slug = (play(caller, call, str(name), target) for name in (theirs.pk, theirs.slug))
    return _faults(caller, target, by_id, by_slug, is_compared=True)


def _faults(
    caller: Caller, target: Target, hidden: Answer, absent: Answer, *, is_compared: bool
) -> Iterator[str]:
    if hidden.status >= 500:
        yield f"{caller.name}: {hidden.status} {hidden.text[:300]}"
    leaks = hidden.leaks(target)
    if leaks:
        yield f"{caller.name}: {hidden.status} tells {sorted(set(leaks))}: {hidden.text[:600]}"
    if is_compared and hidden.likeness != absent.likeness:
        yield f"{caller.name}: {hidden.likeness} and not {absent.likeness}"
