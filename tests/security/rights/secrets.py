"""Plants a secret of every kind in a workspace: each is a text that occurs nowhere else."""

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any
from uuid import uuid4

from cryptography.fernet import Fernet
from django.core import mail

from ingest.api.sources.views import SourcesView
from ingest.connectors.records.kinds import RECORD_KINDS
from kebab.accounts.secret_links import send_reset_mail
from kebab.identity.caller import Caller, Need, caller_access
from kebab.identity.models import Role, TokenScope, Workspace
from kebab.identity.tokens import mint_personal_token
from kebab.people.workspace_settings.registry import known_preferences
from kebab.webhooks.api import WebhooksView
from search.models import Run, Source, SourceKind
from search.notifications.saved_searches import open_feed, save_search
from tests.support.actors import make_member, person_client
from tests.support.api import address

_SECRET_SETTING = re.compile(r"KEBAB_\w*(KEYS?|SECRET|PASSWORD|TOKEN)|SECRET_KEY|EMAIL_HOST_PASSWORD")
#: Paths of servers whose addresses say what they read, which is shown to all members.
_PUBLIC_PATHS = {"github": "sea/notes", "gitlab": "sea/notes", "mediawiki": "w/api.php", "s3": ""}


@dataclass(kw_only=True)
class Planted:
    """The secrets of a workspace, by their name, and ids of what has them."""

    secrets: dict[str, str] = field(default_factory=dict)
    #: Who may see a secret after its creation, which is who may write it. Nobody without an entry.
    seers: dict[str, Need] = field(default_factory=dict)
    ids: dict[str, list[str]] = field(default_factory=dict)
    #: What the addresses of servers begin with.
    site: str = "https://host.example.org"

    def mark(self, name: str, seers: Need | None = None) -> str:
        """Return a new secret of this name."""
        self.secrets[name] = f"hush{uuid4().hex}"
        if seers is not None:
            self.seers[name] = seers
        return self.secrets[name]

    def shown_in(self, text: str) -> set[str]:
        """Return the names of the secrets in a text."""
        return {name for name, secret in self.secrets.items() if secret in text}


def secret_settings(settings: Any) -> Iterator[str]:
    """Yield the names of the operator's settings that are secrets."""
    for name in dir(settings):
        if _SECRET_SETTING.fullmatch(name) and isinstance(getattr(settings, name), str | list | dict):
            yield name


def plant_settings(planted: Planted, settings: Any) -> None:
    """Set each secret setting of the operator to a value of its own."""
    for name in secret_settings(settings):
        if name == "KEBAB_ENCRYPTION_KEYS":
            planted.secrets[name] = Fernet.generate_key().decode()
            settings.KEBAB_ENCRYPTION_KEYS = [planted.secrets[name]]
        else:
            kind, secret = type(getattr(settings, name)), planted.mark(name)
            setattr(settings, name, {str: secret, list: [secret], dict: {"": secret}}[kind])


def plant(planted: Planted, workspace: Workspace) -> None:
    """Create what has secrets by the API, as the people who may."""
    owner = make_member(workspace, Role.OWNER)
    owner.set_password("a long pass phrase")
    owner.save()
    client = person_client(owner)

    def post(tail: str, body: Mapping[str, Any]) -> dict[str, Any]:
        answer = client.post(address(workspace, tail), body, format="json")
        assert answer.status_code == 201, answer.content
        planted.ids.setdefault(tail, []).append(answer.json()["id"])
        return answer.json()

    for kind in SourceKind.values:
        if kind not in (SourceKind.UPLOAD, SourceKind.FOLDER):
            post("/sources", {"key": f"a-{kind}", "kind": kind, "config": _config(planted, kind)})
    with_seers = [f"a-{kind}" for kind in SourceKind.values if any(kind in name for name in planted.seers)]
    rows = Source.objects.in_workspace(workspace).filter(key__in=with_seers)
    planted.ids["/sources"] = [str(pk) for pk in rows.values_list("pk", flat=True)]
    hook = planted.mark("path of a webhook", WebhooksView.required["POST"])
    made = post("/webhooks", {"url": f"https://hooks.example.org/{hook}", "events": ["job.failed"]})
    planted.secrets["secret of a webhook"] = made["secret"]
    planted.secrets["token"] = post("/tokens", {"scopes": ["search"], "name": "tool"})["token"]
    planted.secrets["personal token"] = mint_personal_token(owner, scopes=TokenScope)[1]
    post("/invitations", {"email": "ada@example.org", "role": "viewer"})
    planted.secrets["link of an invitation"] = re.search(r"/invitations/([\w-]+)", mail.outbox[-1].body)[1]
    send_reset_mail(owner.email, "https://kebab.example.org")
    planted.secrets["link of a new password"] = re.search(r"/password/reset/\w+/(\S+)", mail.outbox[-1].body)[
        1
    ]
    access = caller_access(Caller(user=owner), workspace.slug)
    saved = save_search(access, name="tides", text="tides", filters={})
    planted.secrets["address of a feed"] = open_feed(access, saved.pk)[1].removeprefix("/feeds/")
    rule = planted.mark("rule of a run", known_preferences()["rules"].need)
    settings = {
        "mode": "lexical",
        "rules": {"version": "1", "entries": [{"kind": "stop_words", "words": [rule]}]},
    }
    run = Run.objects.create(
        workspace=workspace,
        topic_set="golden",
        state="succeeded",
        settings=settings,
        record={"run": settings},
    )
    planted.ids["/eval/runs"] = [str(run.pk)]


def _config(planted: Planted, kind: str) -> dict[str, Any]:
    """Return a config with a secret in each credential, and in each place of an address that may have one."""
    seers = SourcesView.required["POST"]
    if kind == SourceKind.GIT:
        token = planted.mark("token of git")
        return {"url": f"{planted.site}/sea/notes.git", "credentials": {"token": token}}
    if kind == SourceKind.WEB:
        token = planted.mark("sitemap of web", seers)
        return {"url": f"{planted.site}/", "sitemap": f"{planted.site}/s.xml?token={token}"}
    fields = RECORD_KINDS[kind].fields
    config: dict[str, Any] = {
        each.name: "docs" for each in fields if each.is_required and not each.is_credential
    }
    config["credentials"] = {
        each.name: planted.mark(f"{each.name} of {kind}") for each in fields if each.is_credential
    }
    if kind == SourceKind.PROGRAM:
        return {**config, "program": "wiki", "options": [f"key={planted.mark('option of program', seers)}"]}
    if kind == SourceKind.IMAP:
        return {**config, "url": "imaps://mail.example.org"}
    if kind in _PUBLIC_PATHS:
        return {**config, "url": f"{planted.site}/{_PUBLIC_PATHS[kind]}"}
    # A new kind of source is expected to hide its addresses, too.
    config["url"] = f"{planted.site}/{planted.mark(f'path of {kind}', seers)}"
    if kind == SourceKind.FEED:
        config["url"] += f"?token={planted.mark(f'query of {kind}', seers)}"
    return config
