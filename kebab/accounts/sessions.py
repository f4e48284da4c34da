"""Ending of sessions, for deactivated users and on request."""

from typing import Any

from django.contrib.auth import SESSION_KEY
from django.contrib.sessions.models import Session
from django.db.models.signals import post_save
from django.dispatch import receiver
from django.utils import timezone

from kebab.identity.models import User


@receiver(post_save, sender=User)
def end_sessions_of_inactive(sender: type[User], instance: User, **_: Any) -> None:
    """End all sessions of a deactivated user, so that none works again after reactivation."""
    if not instance.is_active:
        end_sessions(instance)


def end_sessions(user: User, *, except_key: str | None = None) -> int:
    """End all sessions of `user` but that with `except_key`; return how many.

    It reads every unexpired session: sessions aren't indexed by user.
    """
    rows = Session.objects.filter(expire_date__gt=timezone.now()).exclude(pk=except_key)
    open_ones = rows.iterator(chunk_size=1_000)
    theirs = [row.pk for row in open_ones if row.get_decoded().get(SESSION_KEY) == str(user.pk)]
    Session.objects.filter(pk__in=theirs).delete()
    return len(theirs)
