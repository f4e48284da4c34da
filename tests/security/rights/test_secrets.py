"""Every secret against every door: who may not write it is not shown it."""

import uuid
from collections import defaultdict
from functools import partial

import pytest
from django.apps import apps

from kebab.cli.client.listing import SCOPED_KINDS
from kebab.people.access.caller import Caller as Identity
from kebab.people.access.caller import caller_access, caller_of_token
from kebab.people.models import Role, TokenScope, User
from kebab.people.tokens import mint_personal_token, mint_token, verify_token
from search.mcp.call_context import Call
from search.mcp.tools.registry import TOOLS, answer_call
from search.models import Source
from tests.cli.commands import run
from tests.security.leaks.answers import captured_log
from tests.security.leaks.callers import Caller
from tests.security.leaks.calls import CALLS
from tests.security.leaks.canaries import Target
from tests.security.leaks.requests import ROUTES, send_and_roll_back
from tests.security.leaks.routes import routes
from tests.security.rights.secrets import Planted, plant, plant_settings
from tests.support.actors import bearer_client, make_member, person_client

pytestmark = pytest.mark.django_db

#: The ids that the addresses take, by the lists that have them.
_LISTS = {"source": "/sources", "webhook": "/webhooks", "token": "/tokens", "run": "/eval/runs"}
_READS = [call for call in CALLS if call.method == "get" and not call.query]
#: Of the secrets that some may see, those that pages show.
_ON_PAGES = {"path of a webhook", "path of feed", "query of feed", "path of webdav"}


class _Ids(dict):
    def __missing__(self, name):
        return str(uuid.UUID(int=0)) if "id" in name or name in ("doc", "chunk") else "nothing"


@pytest.fixture
def planted(workspace, settings, blobs):
    settings.KEBAB_CONNECTORS = {"wiki": ["/usr/bin/wiki"]}
    found = Planted()
    plant_settings(found, settings)
    plant(found, workspace)
    return found


def _person(workspace, role):
    """Return a client and an access for a person of the role."""
    user = make_member(workspace, role)
    return person_client(user), caller_access(Identity(user=user), workspace.slug)


def _tool(workspace, scopes, is_personal=False):
    """Return a client and an access for a token with the scopes, of the workspace or of an owner."""
    mint = partial(mint_personal_token, make_member(workspace, Role.OWNER)) if is_personal else mint_token
    secret = mint(*(() if is_personal else (workspace,)), scopes=scopes)[1]
    access = caller_access(caller_of_token(verify_token(secret)), workspace.slug)
    return bearer_client(secret), access


CALLERS = {
    **{f"{role} on pages": partial(_person, role=role) for role in (Role.VIEWER, Role.EDITOR, Role.ADMIN)},
    **{
        f"token to {scope}": partial(_tool, scopes=[scope]) for scope in TokenScope if scope != TokenScope.ASK
    },
    "token to all": partial(_tool, scopes=[*TokenScope]),
    "tool of an owner": partial(_tool, scopes=[*TokenScope], is_personal=True),
}


def targets(planted):
    """Yield ids for addresses until each thing with a secret was named once."""
    ids = {name: planted.ids[list_] for name, list_ in _LISTS.items()}
    for number in range(max(map(len, ids.values()))):
        yield Target(stem="plain", ids=_Ids({name: each[number % len(each)] for name, each in ids.items()}))


def paths(planted, workspace, calls):
    """Return the addresses of the calls for everything that has a secret."""
    found = {
        call.address(ROUTES[call.route], workspace.slug, target)
        for call in calls
        for target in targets(planted)
    }
    return sorted(found)


def read(client, path):
    """Return what a client gets at an address."""
    caller = Caller(name="", client=client, hostile_to=frozenset())
    answer = send_and_roll_back(caller, "get", path)
    return "\n".join((answer.text, *map("{0[0]}: {0[1]}".format, answer.headers.items())))


def find_shown(planted, client, paths):
    """Return the addresses at which each secret is shown to a client."""
    found = defaultdict(list)
    for path in paths:
        for name in planted.shown_in(read(client, path)):
            found[name].append(path)
    return found


@pytest.mark.parametrize("caller", CALLERS)
def test_secrets_are_shown_to_none_but_their_writers(planted, workspace, caller):
    client, access = CALLERS[caller](workspace)
    is_api = not caller.endswith("pages")
    calls = [call for call in _READS if call.route.startswith("api-") is is_api]
    with captured_log() as lines:
        found = find_shown(planted, client, paths(planted, workspace, calls))
    writes = {name for name, need in planted.seers.items() if need.allows(access)}
    assert found.keys() == (writes if is_api else writes & _ON_PAGES), found
    assert planted.shown_in("\n".join(lines)) == set()


def _rows(route, planted):
    """Return the ids of the rows that an address of the admin may name: a row of each model, some sources."""
    if not route.arguments:
        return [""]
    try:
        model = apps.get_model(*route.pattern.split("/")[1:3])
    except (LookupError, TypeError, ValueError):
        return ["1"]
    if model is Source:
        return planted.ids["/sources"]
    return model._default_manager.values_list("pk", flat=True)[:1]


def test_admin_shows_no_secret(planted, workspace):
    operator = person_client(User.objects.create_superuser("operator@example.org", "a long pass phrase"))
    for route in (each for each in routes() if each.pattern.startswith("admin/")):
        for pk in _rows(route, planted):
            path = route.path(dict.fromkeys(route.arguments, str(pk)))
            assert planted.shown_in(read(operator, path)) == set(), path


def test_commands_show_no_secret_that_is_shown_to_nobody(planted, workspace):
    commands = [["status"], *(["list", kind, f"--workspace={workspace.slug}"] for kind in SCOPED_KINDS)]
    commands += [["member", "list", f"--workspace={workspace.slug}"]]
    for arguments in commands:
        _, out, err = run(*arguments, "--json")
        assert planted.shown_in(out + err) <= planted.seers.keys(), arguments


def test_tools_of_agents_show_no_secret(planted, workspace):
    asked = dict.fromkeys(("query", "id", "question", "information_request"), "hush")
    asked |= {"libraryName": "a-feed", "libraryId": "/a-feed"}
    _, access = CALLERS["token to all"](workspace)
    for tool in TOOLS.values():
        answer = answer_call(tool, asked, Call(access=access))
        assert planted.shown_in(f"{answer.text} {answer.data}") == set(), tool
