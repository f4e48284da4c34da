"""Revocation of tokens, without an audit event."""

from django.utils import timezone

from kebab.people.models import ApiToken


def mark_revoked(token: ApiToken) -> bool:
    """Mark `token` as revoked; return whether it wasn't before."""
    updated = ApiToken.objects.filter(pk=token.pk, revoked_at=None).update(revoked_at=timezone.now())
    return updated == 1
