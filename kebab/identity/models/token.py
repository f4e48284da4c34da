"""Tokens, with which tools authenticate: those of a workspace, and those of a person."""

import uuid
from typing import ClassVar

from django.contrib.postgres.fields import ArrayField
from django.db import models
from django.utils import timezone


class TokenScope(models.TextChoices):
    """The rights of a token. A token without scopes may do nothing."""

    SEARCH = "search"
    INGEST = "ingest"
    MANAGE = "manage"
    ASK = "ask"
    #: Of personal tokens alone: all that the person may do as an owner.
    ADMINISTER = "administer"


class Token(models.Model):
    """A secret with scopes; only its SHA-256 is stored."""

    #: How its secret form begins.
    kind: ClassVar[str]

    id = models.UUIDField(primary_key=True, default=uuid.uuid4, editable=False)
    name = models.CharField(max_length=200, blank=True)
    prefix = models.CharField(max_length=16, unique=True, editable=False)
    secret_sha256 = models.BinaryField(max_length=32, editable=False)
    scopes = ArrayField(models.CharField(max_length=16, choices=TokenScope.choices), default=list, blank=True)
    created_at = models.DateTimeField(auto_now_add=True)
    expires_at = models.DateTimeField(null=True, blank=True)
    revoked_at = models.DateTimeField(null=True, blank=True)
    last_used_at = models.DateTimeField(null=True, blank=True, editable=False)

    class Meta:
        abstract = True
        ordering = ("created_at",)

    def __str__(self) -> str:
        return f"{self.kind}_{self.prefix}_…"

    @property
    def is_usable(self) -> bool:
        """Return whether the token is neither revoked nor expired."""
        return self.revoked_at is None and (self.expires_at is None or self.expires_at > timezone.now())


class ApiToken(Token):
    """A token of one workspace, with rights of its own."""

    kind = "kbb"

    workspace = models.ForeignKey("people.Workspace", models.CASCADE, related_name="tokens")
    # What each of its searches is narrowed by; it may do nothing but search then.
    filters = models.JSONField(default=dict, blank=True, db_default={})
    created_by = models.ForeignKey("people.User", models.SET_NULL, null=True, blank=True, related_name="+")

    #: By the queries of `kebab.identity.tokens`.
    group_ids: list[uuid.UUID]

    class Meta(Token.Meta):
        constraints = (
            models.CheckConstraint(
                condition=models.Q(scopes__contained_by=TokenScope.values), name="token_scopes_known"
            ),
        )


class PersonalToken(Token):
    """A token with which a person's tools act for them, in all of their workspaces or in some."""

    kind = "kbp"

    user = models.ForeignKey("people.User", models.CASCADE, related_name="personal_tokens")
    #: The OAuth client that acts with it and renews its secret, if it is one's.
    client = models.ForeignKey(
        "people.OAuthClient", models.CASCADE, null=True, blank=True, related_name="tokens"
    )
    #: The workspaces that the person chose; None: it isn't narrowed.
    workspace_ids = ArrayField(models.UUIDField(), null=True, blank=True)
    #: The only address at which it is accepted (RFC 8707); '': at all.
    resource = models.CharField(max_length=500, blank=True, default="", db_default="")

    class Meta(Token.Meta):
        constraints = (
            models.CheckConstraint(
                condition=models.Q(scopes__contained_by=TokenScope.values), name="personal_token_scopes_known"
            ),
        )

    def is_for(self, resource: str) -> bool:
        """Return whether the token may be used at `resource`; '' is an interface without an address."""
        return self.resource in ("", resource)
