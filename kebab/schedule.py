"""Which tasks Celery's workers take from which queue, and which run again and again."""

from typing import Final

#: The queue of each task that waits elsewhere than in the default one, `maintenance`.
TASK_ROUTES: Final = {
    "ingest.run_job": {"queue": "ingest"},
    "ingest.run_embedding": {"queue": "embed"},
    "search.sync_mirror": {"queue": "mirror"},
}
#: Seconds between two runs; a message that nobody took by then is worth nothing.
BEAT_SCHEDULE: Final = {
    "sweep": {"task": "ingest.sweep", "schedule": 5.0, "options": {"expires": 5}},
    "due-syncs": {"task": "ingest.request_due_syncs", "schedule": 15.0, "options": {"expires": 15}},
    "prune-idempotency-keys": {
        "task": "api.prune_idempotency_keys",
        "schedule": 3600.0,
        "options": {"expires": 600},
    },
    "prune-changes": {"task": "search.prune_changes", "schedule": 3600.0, "options": {"expires": 600}},
    "prune-answers": {"task": "search.prune_answers", "schedule": 3600.0, "options": {"expires": 600}},
    "prune-queries": {"task": "search.prune_queries", "schedule": 3600.0, "options": {"expires": 600}},
    "end-spaces": {"task": "ingest.end_spaces", "schedule": 3600.0, "options": {"expires": 600}},
    "release-expired": {"task": "ingest.release_expired", "schedule": 3600.0, "options": {"expires": 600}},
}
