"""Addresses of every page that could show stored text, by the name of its route."""

import hashlib
import secrets
from datetime import timedelta
from urllib.parse import quote

from django.contrib.auth.tokens import default_token_generator
from django.urls import reverse
from django.utils import timezone
from django.utils.http import urlsafe_base64_encode

from ingest.models import Job
from kebab.identity.models import ApiToken, Group, Invitation, OAuthClient
from kebab.webhooks.models import Endpoint
from search.models import Document, KeptAnswer, Run, Source, Topic
from search.retrieval.query.rules import RuleKind
from tests.security.leaks.routes import routes
from tests.security.xss.hostile import MARK, hostile
from tests.support.oauth import App

ROUTES_OF_PAGES = [route for route in routes() if not route.pattern.startswith(("admin/", "api/v1/"))]
#: Routes without a page: for machines, pictures, or redirects.
NO_PAGES = {
    *("healthz", "readyz", "metrics", "version", "favicon.ico", "schema", "schema-agent", "opensearch"),
    *("oauth-resource", "oauth-resource-mcp", "oauth-server"),
    *("oauth-registration", "oauth-token", "oauth-revocation"),
    *("document-sheet", "document-picture", "audit-csv", "styles"),
    *("logout", "oidc", "openid_connect_callback"),
    *("source-sync", "source-test", "source-delete", "source-documents-delete", "version-delete"),
    *("jobs", "job"),
    *("act-cancel", "act-retry", "act-dismiss", "quarantine-retry", "quarantine-delete", "document-mark"),
    *("answer-delete", "bookmark", "search-vote", "evaluation-topic-delete", "evaluation-run-repeat"),
    *("evaluation-run-delete", "person-groups", "person-removal", "invitation-withdrawal"),
    *("invitation-again", "group-deletion", "group-addition", "group-removal", "token-revocation"),
    *("workspace-deletion", "profile-theme", "profile-sessions"),
    *("profile-tokens", "profile-token-revocation", "feed"),
    *("webhook-switch", "webhook-test", "webhook-deletion", "rule-switch", "rule-deletion", "query-review"),
    *("saved-search", "saved-search-deletion", "saved-search-feed"),
}


def pages(operator, workspace, documents):
    """Return the addresses to open, by route; links in mails come before the pages that depend on them."""
    ours = [f"/w/{workspace.slug}/documents/{each.doc_id.hex}?q=restart" for each in documents]
    others = Document.objects.exclude(workspace=workspace).filter(workspace__memberships__user=operator)[:12]
    search = f"/w/{workspace.slug}/search?q=restart&k=50&mode="
    plain = {route.name: ["/" + route.pattern] for route in ROUTES_OF_PAGES if not route.arguments}
    return {
        "invitation-link": [_invitation_link(operator, workspace)],
        "password-reset-link": [_reset_link(operator)],
        **{name: paths for name, paths in plain.items() if name not in NO_PAGES},
        "search": [f"{search}{mode}" for mode in ("lexical", "vector", "hybrid")],
        "search-more": [f"/w/{workspace.slug}/search/more?q=restart&mode=lexical&cursor="],
        "search-filters": [f"/w/{workspace.slug}/search/filters?q=restart&mode=lexical"],
        "search-answer": [f"/w/{workspace.slug}/search/answer?q=how+do+I+restart+it"],
        "document-chunks": [address.replace("?", "/chunks?") for address in ours],
        "oauth-authorization": [_consent_path()],
        **_answer_pages(workspace),
        **_source_pages(workspace),
        **_evaluation_pages(workspace),
        **_people_pages(operator, workspace),
        "document": [*ours, *(f"/w/{each.workspace.slug}/documents/{each.doc_id.hex}" for each in others)],
    }


def _answer_pages(workspace):
    """Return the pages of an answer made from hostile text."""
    answer = KeptAnswer.objects.in_workspace(workspace).get()
    ask, answered = f"/w/{workspace.slug}/ask", f"/w/{workspace.slug}/answers/{answer.pk}"
    return {
        "ask": [ask],
        "answer": [answered],
        "answers": [f"/w/{workspace.slug}/answers"],
        "answer-citation": [f"{answered}/citations/1"],
        "answer-check": [f"{answered}/check"],
        "conversation": [f"/w/{workspace.slug}/conversations/{answer.conversation_id}"],
    }


def _source_pages(workspace):
    """Return the pages of the workspace's source and its jobs."""
    at = f"/w/{workspace.slug}"
    source = f"{at}/sources/{Source.objects.in_workspace(workspace).get().pk}"
    jobs = Job.objects.in_workspace(workspace)
    return {
        "sources": [f"{at}/sources"],
        "source": [source],
        "source-edit": [f"{source}/edit"],
        "new-source": [f"{at}/sources/new", f"{at}/sources/new?kind=git"],
        "upload": [f"{at}/upload"],
        "activity": [f"{at}/activity"],
        "act": [f"{at}/activity/{job.pk}" for job in jobs],
        "quarantine": [f"{at}/quarantine"],
    }


def _evaluation_pages(workspace):
    """Return the pages of its queries and runs, including the comparison of two runs."""
    at = f"/w/{workspace.slug}"
    first, second = (f"{run.pk}" for run in Run.objects.in_workspace(workspace).order_by("created_at"))
    topic_set = quote(Topic.objects.in_workspace(workspace).get().topic_set)
    runs = f"{at}/evaluation/runs"
    return {
        "bookmarks": [f"{at}/bookmarks"],
        "insight": [f"{at}/insight"],
        "evaluation": [f"{at}/evaluation", f"{at}/evaluation?set={topic_set}"],
        "evaluation-topic-new": [f"{at}/evaluation/topics/new?q={quote(hostile())}&place={quote(hostile())}"],
        "evaluation-feedback": [f"{at}/evaluation/feedback"],
        "evaluation-run-new": [f"{runs}/new?set={topic_set}"],
        "evaluation-run": [f"{runs}/{first}", f"{runs}/{first}?baseline={second}"],
    }


def _people_pages(operator, workspace):
    """Return the pages of the workspace's people and their rights."""
    at = f"/w/{workspace.slug}"
    token = ApiToken.objects.get(workspace=workspace)
    return {
        "people": [f"{at}/people"],
        "person": [f"{at}/people/{operator.pk}"],
        "person-access": [
            f"{at}/people/{operator.pk}/access",
            f"{at}/people/{operator.pk}/access?document={quote(hostile())}",
        ],
        "groups": [f"{at}/groups"],
        "group": [f"{at}/groups/{Group.objects.get(workspace=workspace).pk}"],
        "tokens": [f"{at}/tokens"],
        "token": [f"{at}/tokens/{token.pk}"],
        "token-access": [f"{at}/tokens/{token.pk}/access"],
        "settings": [f"{at}/settings"],
        "settings-search": [f"{at}/settings/search"],
        "rules": [f"{at}/settings/rules?kind={kind}&query={quote(hostile())}" for kind in RuleKind],
        "settings-embedding": [f"{at}/settings/embedding"],
        "settings-retention": [f"{at}/settings/retention"],
        "workspace-deletion": [f"{at}/settings/delete"],
        "audit": [f"{at}/audit"],
        "webhooks": [f"{at}/webhooks"],
        "webhook": [f"{at}/webhooks/{Endpoint.objects.get(workspace=workspace).pk}"],
        "saved-searches": [f"{at}/saved", f"{at}/saved?q={quote(hostile())}"],
    }


def _invitation_link(operator, workspace):
    """Return the link to the invitation of a hostile owner into a hostile workspace."""
    secret = secrets.token_urlsafe(32)
    Invitation.objects.create(
        workspace=workspace,
        email=f'"<img src=x onerror={MARK}=1>"@example.org',
        secret_sha256=hashlib.sha256(secret.encode()).digest(),
        invited_by=operator.email,
        expires_at=timezone.now() + timedelta(days=1),
    )
    return f"/invitations/{secret}"


def _consent_path():
    """Return the address of the consent page for a client with a hostile name."""
    uri = "https://app.example/?a=%3Cscript%3E"
    client = OAuthClient.objects.create(name=hostile(200), redirect_uris=[uri])
    return App(client_id=str(client.pk)).authorize_path(redirect_uri=uri, resource=None)


def _reset_link(user):
    uid = urlsafe_base64_encode(str(user.pk).encode())
    return reverse("password-reset-link", args=[uid, default_token_generator.make_token(user)])
