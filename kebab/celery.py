"""The Celery application. A message only wakes a worker; the work itself is queued in Postgres."""

import os

from celery import Celery, signals

# Django's system checks import every view, which a worker never needs; `make check` runs them.
os.environ.setdefault("CELERY_SKIP_CHECKS", "true")

app = Celery("kebab", task_cls="kebab.tasks.base:HintTask")
app.config_from_object("django.conf:settings", namespace="CELERY")
app.autodiscover_tasks()


@signals.setup_logging.connect(weak=False)
def _keep_django_logging(**_: object) -> None:
    """Keep Celery from configuring logging: Django's settings have configured all loggers."""
