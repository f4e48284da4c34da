"""One permission for one thing, whichever interface reads or changes it."""

from collections import defaultdict
from collections.abc import Mapping
from functools import partial

import pytest
from django.urls import URLPattern, get_resolver

from kebab.http.api.views import WorkspaceView
from kebab.identity.caller import caller_access, caller_of_token
from kebab.identity.models import AuditEvent, Role, TokenScope
from kebab.identity.tokens import mint_personal_token, mint_token, verify_token
from kebab.pages.page import ActionPage, WorkspacePage
from kebab.people.pages.settings import SettingsPage
from kebab.people.workspace_settings.registry import known_preferences
from search.settings.search_settings import RULES
from tests.support.actors import bearer_client, make_member
from tests.support.api import address

pytestmark = pytest.mark.django_db

#: By the first part of a page's address: those of the API's addresses that have the same things.
THINGS: Mapping[str, tuple[str, ...]] = {
    "activity": ("jobs",),
    "answers": ("answers",),
    "ask": ("ask",),
    "audit": ("audit",),
    "audit.csv": ("audit",),
    "documents": ("documents",),
    "evaluation": ("eval",),
    "groups": ("groups",),
    "insight": ("analytics",),
    "people": ("members", "invitations", "access"),
    "quarantine": ("quarantine",),
    "saved": ("saved-searches",),
    "search": ("search", "feedback"),
    "settings": ("", "rules", "embedding"),
    "sources": ("sources",),
    "tokens": ("tokens",),
    "upload": ("documents",),
    "webhooks": ("webhooks",),
}
_ONE_DOOR = {
    *("bookmarks", "conversations"),  # pages
    *("chunks", "context", "context-pack", "libs", "suggest"),  # the API
}
#: What the page changes that the API only reads.
_OF_PAGES = {"insight": {(Role.ADMIN, TokenScope.MANAGE)}}


def _walk(patterns, before=""):
    for pattern in patterns:
        here = before + str(pattern.pattern)
        if isinstance(pattern, URLPattern):
            view = getattr(pattern.callback, "view_class", None) or getattr(pattern.callback, "cls", None)
            yield here.strip("^$"), view
        else:
            yield from _walk(pattern.url_patterns, here)


def _doors():
    """Yield the first part of each address, whether it is a page, whether it changes anything, its need."""
    for pattern, view in _walk(get_resolver("kebab.urls").url_patterns):
        part = pattern.partition(">")[2].strip("/").partition("/")[0]
        if not isinstance(view, type):
            continue
        if issubclass(view, WorkspaceView):
            for method, need in view.required.items():
                yield part, False, method != "GET", need
        elif issubclass(view, WorkspacePage):
            yield part, True, issubclass(view, ActionPage), view.need


def _plain(need):
    return need.role, need.scope


def test_every_address_of_a_workspace_belongs_to_a_thing():
    parts = {True: set(), False: set()}
    for part, is_page, *_ in _doors():
        parts[is_page].add(part)
    assert parts[True] - _ONE_DOOR == THINGS.keys()
    assert parts[False] - _ONE_DOOR == {part for of_api in THINGS.values() for part in of_api}


@pytest.mark.parametrize("page", THINGS)
def test_pages_and_api_need_the_same_for_a_change(page):
    needs = defaultdict(set)
    for part, is_page, changes, need in _doors():
        if changes and part in ((page,) if is_page else THINGS[page]):
            needs[is_page].add(_plain(need))
    assert needs[True] <= needs[False] | _OF_PAGES.get(page, set())


@pytest.mark.parametrize("page", THINGS)
def test_page_shows_nothing_to_roles_that_may_not_read_it_over_the_api(page):
    levels = {
        is_page: [
            need.role.level
            for part, is_door, changes, need in _doors()
            if is_door is is_page
            and part in ((page,) if is_page else THINGS[page])
            and is_page | (not changes)
        ]
        for is_page in (True, False)
    }
    own = {"people"} & {page}  # who leaves
    assert own or not levels[False] or min(levels[True]) >= min(levels[False])


def _callers(workspace):
    """Return a client and an access for a caller of each kind."""
    found = {}
    people = {role: make_member(workspace, role) for role in Role}
    secrets = {
        **{f"token {scope}": mint_token(workspace, scopes=[scope])[1] for scope in TokenScope},
        "token all": mint_token(workspace, scopes=TokenScope)[1],
        "token none": mint_token(workspace, scopes=[])[1],
    }
    for role, user in people.items():
        secrets[f"{role} all"] = mint_personal_token(user, scopes=TokenScope)[1]
        secrets[f"{role} search"] = mint_personal_token(user, scopes=[TokenScope.SEARCH])[1]
    for name, secret in secrets.items():
        access = caller_access(caller_of_token(verify_token(secret)), workspace.slug)
        found[name] = bearer_client(secret), access
    return found


@pytest.mark.parametrize("name", known_preferences())
def test_setting_needs_the_same_at_every_door(workspace, name, subtests):
    setting = known_preferences()[name]
    change = {"settings": {name: None}}
    doors = {
        "workspace": partial(lambda client: client.patch(address(workspace, ""), change, format="json")),
        "gate": partial(lambda client: client.post(address(workspace, "/eval/gate"), change, format="json")),
    }
    if name == RULES:
        doors["rules"] = lambda client: client.put(address(workspace, "/rules"), {"rules": []}, format="json")
    for caller, (client, access) in _callers(workspace).items():
        for door, send in doors.items():
            with subtests.test(caller=caller, door=door):
                status = send(client).status_code
                assert (status != 403) is setting.need.allows(access), status
    if setting.section is not None:
        assert setting.need == SettingsPage.need


def test_value_of_a_setting_with_a_summary_is_in_no_audit_event(workspace):
    """Cover search rules, which may name documents of restricted sources."""
    rule = {"kind": "synonyms", "words": ["hushword", "other"]}
    client, _ = _callers(workspace)[f"{Role.OWNER} all"]
    for tail in ("", "/eval/gate"):
        send = client.post if tail else client.patch
        answer = send(address(workspace, tail), {"settings": {RULES: [rule]}}, format="json")
        assert answer.status_code < 300, answer.content
    events = AuditEvent.objects.filter(workspace=workspace)
    assert {"workspace.changed", "gate.asked"} <= {event.action for event in events}
    assert not [event for event in events if "hushword" in str(event.detail)]
