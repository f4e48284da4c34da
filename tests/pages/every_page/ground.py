"""A small workspace with something of everything that pages show, for tests and screenshots."""

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import timedelta
from pathlib import Path

from django.conf import settings
from django.contrib.auth.tokens import default_token_generator
from django.core.files.uploadedfile import SimpleUploadedFile
from django.test import Client, override_settings
from django.utils import timezone
from django.utils.encoding import force_bytes
from django.utils.http import urlsafe_base64_encode

from kebab.identity.caller import Caller, member_access, readable_memberships
from kebab.identity.models import Group, GroupMember, Membership, OAuthClient, Role, User, Workspace
from kebab.identity.tokens import mint_token
from kebab.people.invitations import invite
from kebab.people.operator import command_line_access
from kebab.people.workspaces import delete_workspace
from kebab.webhooks.endpoints import create_endpoint, send_test
from search.mirror import local_mirrors
from search.models import Source
from search.notifications.saved_searches import save_search
from search.settings.rules import add_rule
from tests.pages.every_page.sample_rows import fill_evaluation, fill_sources, shelve_hostile, shelve_picture
from tests.support.actors import person_client
from tests.support.api import address, embed, forget_acts, run
from tests.support.oauth import REDIRECT, App
from tests.support.samples import content_of
from tests.support.stores import stores_in

_SLUG = "harbour"
# What is uploaded, through the pipeline that people's files go through, by the name of its id.
_FILES = {
    "doc_id": "markdown/moorings.md",
    "code": "code/ledger.py",
    "pdf": "pdf/printed.pdf",
    "transcript": "transcript/harbour.srt",
    "office": "office/handbook.docx",
    "mail": "email/report.eml",
    "web_page": "html/pilots-material.html",
    "rst": "rst/backup.rst",
    "notebook": "notebook/tides.ipynb",
    "table": "table/gauges.csv",
    "wiki": "markup/dredging.adoc",
    "sheet": "office/tides.xlsx",
}


@dataclass(frozen=True, kw_only=True)
class Ground:
    """Members of the workspace, and the ids of its rows by the names of URL arguments."""

    people: Mapping[Role, User]
    #: A member of another workspace alone.
    stranger: User
    #: The sessions in which they are logged in.
    sessions: Mapping[Role, str]
    ids: Mapping[str, str]


@contextmanager
def prepared_ground(root: Path) -> Iterator[Ground]:
    """Commit the ground, with mirrors and blobs below `root`; remove it when the context ends."""
    known = set(User.objects.values_list("pk", flat=True))
    allowed = {"KEBAB_SEARCH_STATEMENT_LIMIT_MS": 60_000, "KEBAB_FOLDER_ROOTS": [root]}
    with override_settings(**stores_in(root), **allowed):
        names = {
            _SLUG: "Harbour office",
            f"{_SLUG}-empty": "Harbour archive",
            f"{_SLUG}-other": "Board papers",
        }
        spaces = [Workspace.objects.create(slug=slug, name=name) for slug, name in names.items()]
        try:
            yield _fill(*spaces)
        finally:
            local_mirrors.reader_pool().close()
            for workspace in spaces:
                delete_workspace(command_line_access(workspace))
            User.objects.exclude(pk__in=known).delete()
            OAuthClient.objects.all().delete()
            forget_acts()


def _fill(workspace: Workspace, empty: Workspace, other: Workspace) -> Ground:
    people = {role: _person(role.value, {workspace: role, empty: role}) for role in Role}
    # Before the link to a new password is made, which logging in makes useless.
    sessions = {role: _session(person) for role, person in people.items()}
    stranger = _person("stranger", {other: Role.OWNER})
    ids = {"slug": workspace.slug, "empty_slug": empty.slug, "no_slug": "no-such-place"}
    ids |= _documents(workspace, people[Role.EDITOR])
    ids |= {"picture": shelve_picture(workspace), "hostile": shelve_hostile(workspace)}
    ids |= (
        fill_sources(workspace)
        | fill_evaluation(workspace, people[Role.VIEWER])
        | _people_ids(workspace, people)
    )
    embed(workspace)
    workspace.refresh_from_db()
    local_mirrors.wait_for_seq(workspace.pk, workspace.head_seq, limit_s=30)
    return Ground(people=people, stranger=stranger, sessions=sessions, ids=ids)


def _person(name: str, roles: Mapping[Workspace, Role]) -> User:
    user = User.objects.create_user(
        f"{name}@harbour.example", "seven knots at dusk", display_name=name.title()
    )
    for workspace, role in roles.items():
        Membership.objects.create(workspace=workspace, user=user, role=role)
    return user


def _session(person: User) -> str:
    client = Client()
    client.force_login(person)
    return client.cookies[settings.SESSION_COOKIE_NAME].value


def _documents(workspace: Workspace, editor: User) -> dict[str, str]:
    client, ids = person_client(editor), {}
    for name, file in _FILES.items():
        answer = client.post(
            address(workspace, "/documents"),
            {"file": SimpleUploadedFile(Path(file).name, content_of(file)), "source": "handbook"},
            format="multipart",
        )
        assert answer.status_code == 202, answer.content
        job = run(workspace, answer)
        assert job.state == "succeeded", job.error
        ids |= {name: answer.json()["document"]["id"], "job_id": str(job.pk)}
    return ids


def _people_ids(workspace: Workspace, people: Mapping[Role, User]) -> dict[str, str]:
    owner = people[Role.OWNER]
    memberships = readable_memberships(owner)
    access = member_access(Caller(user=owner), memberships.get(workspace=workspace))
    invitation = invite(access, "newcomer@harbour.example", Role.EDITOR)
    token, _ = mint_token(workspace, scopes=["search"], name="Reading robot", created_by=owner)
    mint_token(
        workspace, scopes=["ingest"], name="Old importer", expires_at=timezone.now() - timedelta(days=1)
    )
    group = Group.objects.create(workspace=workspace, name="Pilots")
    viewer = Membership.objects.get(workspace=workspace, user=people[Role.VIEWER])
    GroupMember.objects.create(workspace=workspace, group=group, membership=viewer)
    rule = add_rule(access, {"kind": "synonyms", "words": ["k8s", "Kubernetes"]}, force=False)
    uid = urlsafe_base64_encode(force_bytes(owner.pk))
    hook = {"url": "https://hooks.harbour.example/kebab", "events": ["document.indexed", "job.failed"]}
    webhook, _ = create_endpoint(access, description="Notice board", **hook)
    send_test(access, webhook.pk)
    client = OAuthClient.objects.create(name="Reading app", redirect_uris=[REDIRECT])
    return {
        "webhook_id": str(webhook.pk),
        "search_id": str(save_search(access, name="Berths", text="berth", filters={}).pk),
        "user_id": str(viewer.user_id),
        "token_id": str(token.pk),
        "group_id": str(group.pk),
        "rule_id": rule["id"],
        "invitation_id": str(invitation.invitation.pk),
        "invitation_link": invitation.path,
        "consent": App(client_id=str(client.pk)).authorize_path(resource=None),
        "reset_link": f"/password/reset/{uid}/{default_token_generator.make_token(owner)}",
        "source_id": str(Source.objects.in_workspace(workspace).get(key="handbook").pk),
    }
