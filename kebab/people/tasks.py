"""The Celery task of people's connections."""

from celery import shared_task

from kebab.people.oauth.clients import prune_connections


@shared_task(name="people.prune_connections")
def prune_connections_task() -> None:
    """Delete what is left of ended connections, and clients that nobody uses."""
    prune_connections()
