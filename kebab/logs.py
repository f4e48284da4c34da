"""What the processes log, and what no level of theirs may bring to light."""

from typing import Any


def logging_settings(level: str) -> dict[str, Any]:
    """Give Django's LOGGING for all processes: lines on stderr, from `level` on."""
    return {
        "version": 1,
        "disable_existing_loggers": False,
        "formatters": {"line": {"format": "{asctime} {levelname} {name} {message}", "style": "{"}},
        "handlers": {"stderr": {"class": "logging.StreamHandler", "formatter": "line"}},
        "root": {"handlers": ["stderr"], "level": level},
        "loggers": {
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
