"""Every secret against every door: who may not write it is not shown it."""

import re
import uuid
from collections import defaultdict
from functools import partial

import pytest
from django.apps import apps
from django.core import mail
from django.db.models.functions import Now
from django.test import Client

from ingest.jobs.queue.request import request_sync
from kebab.cli.client.commands.list import LISTINGS
from kebab.identity.caller import Caller as Identity
from kebab.identity.caller import caller_access, caller_of_token
from kebab.identity.models import AuditEvent, Role, TokenScope, User
from kebab.identity.tokens import mint_personal_token, mint_token, verify_token
from kebab.webhooks.delivery import mail_disabled
from kebab.webhooks.models import Delivery, Endpoint
from search.bundles.rows import write_small_sections
from search.mcp.call_context import Call
from search.mcp.tools.registry import TOOLS, answer_call
from search.models import Document, SavedSearch, Source
from search.notifications.alert_mail import send_alert_mails
from tests.cli.commands import run
from tests.security.leaks.answers import captured_log
from tests.security.leaks.callers import Caller
from tests.security.leaks.calls import CALLS
from tests.security.leaks.canaries import Target
from tests.security.leaks.requests import ROUTES, send_and_roll_back
from tests.security.leaks.routes import routes
from tests.security.rights.secrets import Planted, plant, plant_settings
from tests.support.actors import bearer_client, make_member, member_client, person_client
from tests.support.api import address
from tests.support.corpus import make_workspace, write
from tests.support.hostile_server import serving
from tests.support.jobs import work

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
    commands = [["status"], *(["list", kind, f"--workspace={workspace.slug}"] for kind in LISTINGS)]
    commands += [["api", "GET", "/workspaces/{ws}/members", f"--workspace={workspace.slug}"]]
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


def _bundle(planted, workspace):
    rows = []
    write_small_sections(workspace, lambda section, body: rows.append(body.decode()) or len(rows))
    return "\n".join(rows)


def _feed(planted, workspace):
    return read(Client(), f"/feeds/{planted.secrets['address of a feed']}")


def _alert_mail(planted, workspace):
    write(workspace, "tides.md", "tides")
    unsent = list(Document.objects.values_list("doc_id", flat=True))
    SavedSearch.objects.update(notify="mail", unsent=unsent, mail_due_at=Now())
    assert send_alert_mails() == 1
    return mail.outbox[-1].body


def _mail_about_a_webhook(planted, workspace):
    mail_disabled(Endpoint.objects.get(), "It answered 410.")
    return mail.outbox[-1].body


def _webhook(planted, workspace):
    hook = planted.ids["/webhooks"][0]
    assert (
        member_client(workspace, Role.OWNER).post(address(workspace, f"/webhooks/{hook}/test")).status_code
        == 202
    )
    return Delivery.objects.get().body


def _audit(planted, workspace):
    return "\n".join(f"{event.subject} {event.detail}" for event in AuditEvent.objects.all())


#: Doors without callers of their own: who opens them, and the secrets that they are meant for.
DOORS = {
    "bundle": (_bundle, {"rule of a run"}),
    "feed": (_feed, {"address of a feed"}),
    "alert mail": (_alert_mail, set()),
    "mail about a webhook": (_mail_about_a_webhook, set()),
    "webhook": (_webhook, set()),
    "audit log": (_audit, set()),
}


@pytest.fixture
def _mail_is_delivered(monkeypatch, settings):
    settings.KEBAB_URL = "https://kebab.example.org"
    for module in ("kebab.webhooks.delivery", "ingest.jobs.queue.failure_mail"):
        monkeypatch.setattr(f"{module}.mail_is_delivered", lambda: True)


@pytest.mark.usefixtures("_mail_is_delivered")
def test_interfaces_show_only_secrets_they_are_meant_to_show(planted, workspace, subtests):
    for door, (open_door, meant) in DOORS.items():
        with subtests.test(door=door), captured_log() as lines:
            text = open_door(planted, workspace)
            assert text
            assert planted.shown_in(text) == meant
            assert planted.shown_in("\n".join(lines)) == set()


def test_links_that_are_secrets_are_not_logged(planted):
    mails = "\n".join(each.body for each in mail.outbox)
    links = re.findall(r"https?://[^/]+(/(?:invitations|password/reset)/\S+)", mails)
    links.append(f"/feeds/{planted.secrets['address of a feed']}")
    with captured_log() as lines:
        answers = [Client().get(link).status_code for link in links]
    assert sorted(answers) == [200, 302, 302]
    assert planted.shown_in("\n".join(lines)) == set()


def _repeat_request(exchange):
    """Lead each request elsewhere, in words that repeat all of it."""
    while head := exchange.rfile.readline().decode():
        while (line := exchange.rfile.readline().decode()).strip():
            head += line
        place = head.split()[1].partition("?")[0]
        status = "404" if place == "/robots.txt" else "302"
        exchange.begin(f"{status} {head.splitlines()[0]}", Location=f"{place}/", Content_Length=len(head))
        exchange.send(head.encode())


@pytest.mark.slow
@pytest.mark.usefixtures("_mail_is_delivered", "transactional_db", "mirrors")
def test_words_of_servers_show_no_secret(settings, subtests):
    settings.KEBAB_CONNECTORS, settings.KEBAB_PRIVATE_HOSTS = {"wiki": ["/usr/bin/wiki"]}, {"127.0.0.1"}
    workspace = make_workspace()
    client = member_client(workspace, Role.OWNER)
    with serving(_repeat_request) as server, captured_log() as lines:
        planted = Planted(site=server.url)
        plant_settings(planted, settings)
        plant(planted, workspace)
        for source in Source.objects.exclude(kind__in=("imap", "program")):
            with subtests.test(kind=source.kind):
                mail.outbox.clear()
                preview = client.post(address(workspace, f"/sources/{source.pk}/test")).content.decode()
                job = work(request_sync(source))
                sent, delivery = mail.outbox[0].body, Delivery.objects.order_by("-pk")[0].body
                assert job.error
                assert job.error in sent
                assert planted.shown_in("\n".join((preview, job.error, sent, delivery))) == set()
    assert planted.shown_in("\n".join(lines)) == set()
