"""OAuth clients, which people connect to their workspaces, and what clients exchange for access tokens."""

import uuid

from django.contrib.postgres.fields import ArrayField
from django.db import models
from django.utils import timezone

MAX_REDIRECT_URIS = 10
MAX_URI_CHARS = 2_000


class OAuthClient(models.Model):
    """A program that registered itself. It has no secret: whoever knows its id may claim to be it."""

    id = models.UUIDField(primary_key=True, default=uuid.uuid4, editable=False)
    name = models.CharField(max_length=200, blank=True)
    redirect_uris = ArrayField(models.CharField(max_length=MAX_URI_CHARS), size=MAX_REDIRECT_URIS)
    registered_at = models.DateTimeField(auto_now_add=True)
    #: The last registration or consent.
    active_at = models.DateTimeField(default=timezone.now, db_index=True)

    class Meta:
        ordering = ("registered_at",)

    def __str__(self) -> str:
        return self.name or str(self.pk)


class OAuthGrant(models.Model):
    """A code or a refresh token, exchanged once for an access token; only its SHA-256 is stored.

    All grants of one consent belong to one personal token: the second use of any of them revokes it.
    """

    token = models.ForeignKey("people.PersonalToken", models.CASCADE, related_name="grants")
    sha256 = models.BinaryField(max_length=32, unique=True)
    #: Of a code; both are '' for a refresh token.
    redirect_uri = models.CharField(max_length=MAX_URI_CHARS, blank=True, default="")
    code_challenge = models.CharField(max_length=128, blank=True, default="")
    expires_at = models.DateTimeField(db_index=True)
    used_at = models.DateTimeField(null=True)

    class Meta:
        ordering = ("pk",)

    def __str__(self) -> str:
        return f"{'code' if self.code_challenge else 'refresh token'} of {self.token_id}"
