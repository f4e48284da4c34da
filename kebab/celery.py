"""The Celery application. A message only wakes a worker; Postgres says what there is to do."""

from celery import Celery

app = Celery("kebab")
app.config_from_object("django.conf:settings", namespace="CELERY")
app.autodiscover_tasks()
