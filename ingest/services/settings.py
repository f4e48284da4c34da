"""Verdicts of the golden queries on settings: requested by a caller, recorded in the audit log."""

from collections.abc import Mapping
from typing import Any

from django.db import transaction

from ingest.jobs.queue.request import request_gate
from ingest.models import Job
from kebab.people import audit
from kebab.people.access.caller import Access


def request_verdict(access: Access, *, settings: Mapping[str, Any], switch: bool, force: bool) -> Job:
    """Return the job that judges `settings` by the golden queries, and with `switch` changes to them.

    It acts as the caller, with the rights that they have when it runs.
    """
    payload = {"settings": dict(settings), "switch": switch, "force": force, "creator": access.identity}
    with transaction.atomic():
        job = request_gate(access.workspace.pk, payload, requested_by=access.actor)
        audit.record(access, "gate.asked", str(job.pk), settings=dict(settings), switch=switch, force=force)
    return job
