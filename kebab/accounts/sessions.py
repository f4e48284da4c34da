"""Ends the sessions of people who may not come in any more."""

from typing import Any

from django.contrib.auth import SESSION_KEY
from django.contrib.sessions.models import Session
from django.db.models.signals import post_save, pre_save
from django.dispatch import receiver
from django.utils import timezone

from kebab.people.models import User


@receiver(pre_save, sender=User)
def see_whether_deactivated(sender: type[User], instance: User, **_: Any) -> None:
    """Keep on the user whether saving deactivates somebody who was active."""
    was_active = User.objects.filter(pk=instance.pk, is_active=True)
    instance.is_deactivated_now = not instance.is_active and was_active.exists()  # type: ignore[attr-defined]


@receiver(post_save, sender=User)
def end_sessions_of_deactivated(sender: type[User], instance: User, **_: Any) -> None:
    """End all sessions of somebody who is active no more, so that none comes back with them.

    It looks into every open session there is: sessions don't say whose they are.
    """
    if not instance.is_deactivated_now:  # type: ignore[attr-defined]
        return
    open_ones = Session.objects.filter(expire_date__gt=timezone.now()).iterator(chunk_size=1_000)
    theirs = [row.pk for row in open_ones if row.get_decoded().get(SESSION_KEY) == str(instance.pk)]
    Session.objects.filter(pk__in=theirs).delete()
