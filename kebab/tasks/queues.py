"""Celery's transport settings, task routes and beat schedule."""

from typing import Any, Final

#: The queues of tasks that are not in the default queue, `maintenance`.
TASK_ROUTES: Final = {
    "ingest.run_job": {"queue": "ingest"},
    "ingest.run_embedding": {"queue": "embed"},
    "search.sync_mirror": {"queue": "mirror"},
}
_PERIODS_S: Final = {
    "ingest.sweep": 5.0,
    "ingest.request_due_syncs": 15.0,
    "ingest.replace_older_chunks": 300.0,
    "ingest.end_spaces": 3600.0,
    "ingest.release_expired": 3600.0,
    "search.notify": 5.0,
    "search.prune_changes": 3600.0,
    "search.prune_answers": 3600.0,
    "search.prune_queries": 3600.0,
    "webhooks.deliver": 5.0,
    "webhooks.prune": 3600.0,
    "api.prune_idempotency_keys": 3600.0,
    "people.prune_connections": 3600.0,
}
#: A message that no worker has taken for ten minutes expires; nodes whose clocks differ by less take each
#: other's messages.
BEAT_SCHEDULE: Final = {
    task: {"task": task, "schedule": period_s, "options": {"expires": 600}}
    for task, period_s in _PERIODS_S.items()
}

_TRANSPORT: Final = {
    "visibility_timeout": 1800,
    "unacked_restore_interval": 5,
    "unacked_restore_throttle": 1,
    "health_check_interval": 10,
    "socket_timeout": 5,
    "socket_connect_timeout": 3,
    "socket_keepalive": True,
    "retry_on_timeout": True,
}


def celery_settings(broker_url: str) -> dict[str, Any]:
    """Return Celery's settings by their Django names; messages may be lost or delivered twice."""
    return {
        "CELERY_BROKER_URL": broker_url,
        "CELERY_TASK_SERIALIZER": "json",
        "CELERY_ACCEPT_CONTENT": ["json"],
        "CELERY_TASK_IGNORE_RESULT": True,
        "CELERY_TASK_ACKS_LATE": True,
        "CELERY_WORKER_PREFETCH_MULTIPLIER": 1,
        "CELERY_WORKER_ENABLE_REMOTE_CONTROL": False,
        "CELERY_WORKER_CANCEL_LONG_RUNNING_TASKS_ON_CONNECTION_LOSS": True,
        # After SIGQUIT or a second Ctrl-C; at SIGTERM jobs are requeued (kebab.stack.supervisor.worker_stop).
        "CELERY_WORKER_SOFT_SHUTDOWN_TIMEOUT": 30,
        "CELERY_WORKER_HIJACK_ROOT_LOGGER": False,
        "CELERY_BROKER_CONNECTION_RETRY_ON_STARTUP": True,
        "CELERY_BROKER_CONNECTION_MAX_RETRIES": None,
        "CELERY_TASK_DEFAULT_QUEUE": "maintenance",
        "CELERY_TASK_CREATE_MISSING_QUEUES": True,
        "CELERY_BROKER_TRANSPORT_OPTIONS": _TRANSPORT,
        "CELERY_TASK_PUBLISH_RETRY": False,
        "CELERY_TASK_ROUTES": TASK_ROUTES,
        "CELERY_BEAT_SCHEDULE": BEAT_SCHEDULE,
    }
