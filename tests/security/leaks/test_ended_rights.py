"""A right that has ended shows nothing: at every route and tool that is registered, to who used it before."""

from collections.abc import Callable
from dataclasses import dataclass

import pytest
from django.utils import timezone

from kebab.identity.models import GroupMember, Membership, TokenGroup, TokenScope, User
from kebab.identity.tokens import mint_personal_token, verify_token
from tests.security.leaks.callers import Caller
from tests.security.leaks.canaries import CLOSED, THEIRS
from tests.security.leaks.matrix import SUBJECTS, calls_about, faults_of_one, targets
from tests.security.leaks.requests import send_call
from tests.security.leaks.test_mcp_leaks import TOOL_CALLS
from tests.security.leaks.test_mcp_leaks import call as call_tool
from tests.support.actors import bearer_client

pytestmark = pytest.mark.slow


@dataclass(frozen=True, kw_only=True)
class End:
    """The end of a caller's right."""

    caller: str
    #: Whether they act by a personal token.
    is_tool: bool = False
    #: The stem of what is hidden from then on.
    stem: str
    of: Callable[[Caller], object]


def _user(caller):
    return User.objects.get(pk=caller.client.session["_auth_user_id"])


def _token(caller):
    header = caller.client._credentials["HTTP_AUTHORIZATION"]
    return verify_token(header.removeprefix("Bearer "))


def _revoke(caller):
    token = _token(caller)
    type(token).objects.filter(pk=token.pk).update(revoked_at=timezone.now())


def _remove(caller):
    Membership.objects.filter(user=_user(caller)).delete()


def _remove_owner_of_tool(caller):
    Membership.objects.filter(user=_token(caller).user).delete()


def _take_from_group(caller):
    GroupMember.objects.filter(membership__user=_user(caller)).delete()


ENDS = {
    "member removed": End(caller="their owner", stem=THEIRS, of=_remove),
    "tool of a member removed": End(
        caller="their owner", is_tool=True, stem=THEIRS, of=_remove_owner_of_tool
    ),
    "token revoked": End(caller="their token", stem=THEIRS, of=_revoke),
    "tool's token revoked": End(caller="their owner", is_tool=True, stem=THEIRS, of=_revoke),
    "reader taken from the group": End(caller="reader", stem=CLOSED, of=_take_from_group),
    "token taken from the group": End(
        caller="token in the group",
        stem=CLOSED,
        of=lambda caller: TokenGroup.objects.filter(token=_token(caller)).delete(),
    ),
}
_EACH = pytest.mark.parametrize("name", ENDS)
#: Reads in a thread of its own, which sees committed rows only; `tests/security/revocation` has it.
_STREAM = "api-job-events"


def _caller(stage_setting, end):
    caller = stage_setting.callers[end.caller]
    if not end.is_tool:
        return caller
    _, secret = mint_personal_token(_user(caller), scopes=TokenScope)
    return Caller(name=f"{caller.name}'s tool", client=bearer_client(secret), hostile_to=frozenset())


@_EACH
@pytest.mark.parametrize("subject", SUBJECTS)
def test_ended_right_shows_nothing_at_any_route(stage_setting, subtests, name, subject):
    end = ENDS[name]
    caller, target = _caller(stage_setting, end), targets(stage_setting)[end.stem]
    stage = stage_setting.stage
    slug = stage.theirs.slug if end.stem == THEIRS else stage.ours.slug
    calls = [call for call in calls_about(subject) if call.route != _STREAM]
    for call in calls:
        if not call.is_fatal:  # what is stored for the next request is stored with the right
            assert send_call(caller, call, slug, target).status < 500, call.label
    end.of(caller)

    for call in calls:
        with subtests.test(call=call.label):
            assert not list(faults_of_one(stage_setting, call, end.stem, caller, target, call.method))


@_EACH
@pytest.mark.parametrize("tool", sorted(TOOL_CALLS))
def test_ended_right_shows_nothing_to_any_tool(stage_setting, subtests, name, tool):
    end = ENDS[name]
    caller, target = _caller(stage_setting, end), targets(stage_setting)[end.stem]
    if "HTTP_AUTHORIZATION" not in caller.client._credentials:
        return  # tools take tokens
    for given in TOOL_CALLS[tool]:
        call_tool(caller, tool, given, target)
    end.of(caller)

    for given in TOOL_CALLS[tool]:
        with subtests.test(given=given):
            hidden, absent = (call_tool(caller, tool, given, each) for each in (target, target.missing()))
            assert hidden.leaks(target) == []
            assert hidden.comparable == absent.comparable
