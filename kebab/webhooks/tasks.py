"""Celery tasks of webhooks."""

from celery import shared_task

from kebab.tenancy.current_workspace import acting_everywhere
from kebab.webhooks.delivery import deliver_due, prune_deliveries


@shared_task(name="webhooks.deliver")
def deliver_task() -> None:
    """Send the events that are due."""
    deliver_due()


@shared_task(name="webhooks.prune")
def prune_task() -> None:
    """Delete deliveries that are older than a week."""
    with acting_everywhere():
        prune_deliveries()
