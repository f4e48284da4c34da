"""Logging configuration of all processes, with fixed levels for loggers that would reveal secrets."""

from typing import Any, Final

from django.core.exceptions import ImproperlyConfigured

FORMATS: Final = ("line", "json")


def logging_settings(level: str, log_format: str, node: str) -> dict[str, Any]:
    """Return Django's LOGGING for all processes: lines on stderr, from `level` on.

    Raises ImproperlyConfigured.
    """
    if log_format not in FORMATS:
        raise ImproperlyConfigured(f"KEBAB_LOG_FORMAT is {log_format!r}; give {' or '.join(FORMATS)}.")
    return {
        "version": 1,
        "disable_existing_loggers": False,
        "formatters": {
            "line": {"()": "kebab.observability.log_formats.LineFormatter"},
            "json": {"()": "kebab.observability.log_formats.JsonFormatter", "node": node},
        },
        "handlers": {"stderr": {"class": "logging.StreamHandler", "formatter": log_format}},
        "root": {"handlers": ["stderr"], "level": level},
        "loggers": {
            # A line per request is for log collectors; people look at the metrics.
            "kebab.access": {"level": "INFO" if log_format == "json" else "WARNING"},
            # Celery's pool disables this logger's propagation and writes its lines unformatted.
            "multiprocessing": {"handlers": ["stderr"], "propagate": False},
            "django.request": {"level": "ERROR"},
            # Independent of KEBAB_LOG_LEVEL: these would log secrets, as SQL values and in URLs.
            "django.db.backends": {"level": "INFO"},
            "urllib3": {"level": "INFO"},
            "httpx": {"level": "WARNING"},
            "httpx2": {"level": "WARNING"},
            "openai": {"level": "WARNING"},
            # These would log queries and results.
            "mcp": {"level": "WARNING"},
            "sse_starlette": {"level": "WARNING"},
            "psycopg.pool": {"level": "ERROR"},
        },
    }
