"""Settings that the golden queries judge in a job, asked for by a caller and written into the audit log."""

from collections.abc import Mapping
from typing import Any

from django.db import transaction

from ingest.jobs.queue.request import request_gate
from ingest.models import Job
from kebab.people import audit
from kebab.people.access.caller import Access


def ask_for_verdict(access: Access, *, settings: Mapping[str, Any], switch: bool, force: bool) -> Job:
    """Return the job that asks the golden queries under `settings`, and with `switch` changes to them.

    It acts as the caller, with the rights that they have then.
    """
    payload = {"settings": dict(settings), "switch": switch, "force": force, "creator": access.identity}
    with transaction.atomic():
        job = request_gate(access.workspace.pk, payload, requested_by=access.actor)
        audit.record(access, "gate.asked", str(job.pk), settings=dict(settings), switch=switch, force=force)
    return job
