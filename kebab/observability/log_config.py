"""What the processes log, and what no level of theirs may bring to light."""

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
            "line": {"()": "kebab.observability.log_formats.Lines"},
            "json": {"()": "kebab.observability.log_formats.JsonLines", "node": node},
        },
        "handlers": {"stderr": {"class": "logging.StreamHandler", "formatter": log_format}},
        "root": {"handlers": ["stderr"], "level": level},
        "loggers": {
            # A line for each request is for what collects lines; people look at the metrics.
            "kebab.access": {"level": "INFO" if log_format == "json" else "WARNING"},
            # Celery's pool has it keep its lines to itself, and writes them as they are.
            "multiprocessing": {"handlers": ["stderr"], "propagate": False},
            "django.request": {"level": "ERROR"},
            # Whatever KEBAB_LOG_LEVEL says: these would tell secrets, as values of SQL and in addresses.
            "django.db.backends": {"level": "INFO"},
            "urllib3": {"level": "INFO"},
            "httpx": {"level": "WARNING"},
            "httpx2": {"level": "WARNING"},
            "openai": {"level": "WARNING"},
            # These would show what is asked and found.
            "mcp": {"level": "WARNING"},
            "sse_starlette": {"level": "WARNING"},
            "psycopg.pool": {"level": "ERROR"},
        },
    }
