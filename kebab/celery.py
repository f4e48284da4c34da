"""The Celery application. A message only wakes a worker; Postgres says what there is to do."""

import os

from celery import Celery, signals

# Django's system checks import every view, which a worker never serves; `make check` runs them.
os.environ.setdefault("CELERY_SKIP_CHECKS", "true")

app = Celery("kebab", task_cls="kebab.tasks.base:HintTask")
app.config_from_object("django.conf:settings", namespace="CELERY")
app.autodiscover_tasks()


@signals.setup_logging.connect(weak=False)
def _leave_logging(**_: object) -> None:
    """Celery would write lines of its own kind; Django's settings have configured all loggers."""
