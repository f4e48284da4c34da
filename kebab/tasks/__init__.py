"""Celery: task base, queues, schedule."""
