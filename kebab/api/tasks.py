"""The API's own Celery task."""

from celery import shared_task

from kebab.api import idempotency
from kebab.tenancy.acting import acting_everywhere


@shared_task(name="api.prune_idempotency_keys")
def prune_idempotency_keys() -> None:
    """Forget kept answers that are older than a day."""
    with acting_everywhere():
        idempotency.prune_idempotency_keys()
