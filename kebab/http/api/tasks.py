"""The API's own Celery task."""

from celery import shared_task

from kebab.http.api import idempotency
from kebab.tenancy.current_workspace import acting_everywhere


@shared_task(name="api.prune_idempotency_keys")
def prune_idempotency_keys() -> None:
    """Delete stored responses that are older than a day."""
    with acting_everywhere():
        idempotency.prune_idempotency_keys()
