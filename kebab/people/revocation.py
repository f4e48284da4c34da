"""Takes tokens back."""

from django.utils import timezone

from kebab.people.models import ApiToken


def revoke_token(token: ApiToken) -> bool:
    """Make `token` useless from now on; give whether it was not revoked before."""
    updated = ApiToken.objects.filter(pk=token.pk, revoked_at=None).update(revoked_at=timezone.now())
    return updated == 1
