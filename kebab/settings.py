"""Kebab's settings: the only place that reads the environment.

Without `DATABASE_URL` and `REDIS_URL` the embedded servers under `KEBAB_DATA_DIR` are used and secrets are
made at random there; with external servers every secret must come from the environment.
"""

import os
import socket
from pathlib import Path
from typing import Any

import dj_database_url
from django.core.exceptions import ImproperlyConfigured

from kebab.stack import addresses, secrets
from kebab.stack.paths import DataDirectory


def _text(name: str, default: str = "") -> str:
    return os.environ.get(name, default).strip()


def _whole_number(name: str, default: int) -> int:
    raw = _text(name, str(default))
    try:
        return int(raw)
    except ValueError as error:
        raise ImproperlyConfigured(f"{name} is {raw!r}; give a whole number.") from error


def _claim(name: str, default: bool) -> bool:
    raw = _text(name, "1" if default else "0").lower()
    if raw not in {"0", "1", "false", "true", "no", "yes"}:
        raise ImproperlyConfigured(f"{name} is {raw!r}; give 1 or 0.")
    return raw in {"1", "true", "yes"}


def _at_least_one(name: str, default: int) -> int:
    number = _whole_number(name, default)
    if number < 1:
        raise ImproperlyConfigured(f"{name} is {number}; give a whole number from 1 on.")
    return number


def _header_text(name: str) -> str:
    text = _text(name)
    if not (text.isascii() and text.isprintable()):
        raise ImproperlyConfigured(f"{name} is {text!r}; give printable ASCII characters.")
    return text


def _items(name: str, separator: str = ",") -> list[str]:
    return [part.strip() for part in _text(name).split(separator) if part.strip()]


def _keys(name: str) -> dict[str, str]:
    """Give the variables `name` and `name_…`, by what follows the name, in lower case."""
    return {
        variable.removeprefix(name).removeprefix("_").lower(): value.strip()
        for variable, value in os.environ.items()
        if variable == name or variable.startswith(f"{name}_")
    }


BASE_DIR = Path(__file__).resolve().parent.parent
DEBUG = _claim("KEBAB_DEBUG", False)

# --- Where things are -------------------------------------------------------------------------------------
KEBAB_DATA_DIR = Path(_text("KEBAB_DATA_DIR") or BASE_DIR / ".kebab").expanduser().resolve()
KEBAB_RUNTIME_DIR = _text("KEBAB_RUNTIME_DIR")
KEBAB_MIRROR_DIR = Path(_text("KEBAB_MIRROR_DIR") or DataDirectory(KEBAB_DATA_DIR).mirrors)
KEBAB_NODE_ID = _text("KEBAB_NODE_ID") or socket.gethostname()
KEBAB_HOST = _text("KEBAB_HOST", "127.0.0.1")
KEBAB_PORT = _whole_number("KEBAB_PORT", 8000)
KEBAB_FOLDER_ROOTS = [Path(part).resolve() for part in _items("KEBAB_FOLDER_ROOTS", os.pathsep)]

# --- Embedded or external servers -------------------------------------------------------------------------
KEBAB_EMBEDDED_POSTGRES = not _text("DATABASE_URL")
KEBAB_EMBEDDED_REDIS = not _text("REDIS_URL")
KEBAB_POSTGRES_USER = _text("KEBAB_POSTGRES_USER")


def _secret_key() -> str:
    given = _text("KEBAB_SECRET_KEY")
    if given:
        return given
    if KEBAB_EMBEDDED_POSTGRES:
        return secrets.load_or_create(KEBAB_DATA_DIR).secret_key
    raise ImproperlyConfigured("KEBAB_SECRET_KEY is not set; with DATABASE_URL it must be given.")


def _encryption_keys() -> list[str]:
    given = _items("KEBAB_ENCRYPTION_KEYS")
    if given or not KEBAB_EMBEDDED_POSTGRES:
        return given
    return [secrets.load_or_create(KEBAB_DATA_DIR).encryption_key]


def _database() -> dict[str, Any]:
    url = _text("DATABASE_URL") or addresses.database_url(KEBAB_DATA_DIR, KEBAB_RUNTIME_DIR)
    config: dict[str, Any] = dict(dj_database_url.parse(url))
    config["CONN_MAX_AGE"] = 0
    config["TEST"] = {"NAME": _text("KEBAB_TEST_DATABASE") or None}
    config["OPTIONS"] = {
        **config.get("OPTIONS", {}),
        # A thread of the web process holds at most one connection; two more serve the event streams.
        "pool": {
            "min_size": 0,
            "max_size": KEBAB_WEB_THREADS + 2,
            "timeout": 5,
            "max_idle": 120,
        },
        "options": (
            f"-c statement_timeout={KEBAB_STATEMENT_TIMEOUT_MS} -c lock_timeout=5000"
            " -c idle_in_transaction_session_timeout=15000"
        ),
    }
    return config


KEBAB_WEB_WORKERS = _whole_number("KEBAB_WEB_WORKERS", 2)
KEBAB_WEB_THREADS = _whole_number("KEBAB_WEB_THREADS", 8)
KEBAB_WORKER_SLOTS = _whole_number("KEBAB_WORKER_SLOTS", 2)
KEBAB_STATEMENT_TIMEOUT_MS = _whole_number("KEBAB_STATEMENT_TIMEOUT_MS", 30_000)

SECRET_KEY = _secret_key()
# The first seals credentials of sources, all of them open what was sealed; see kebab/sealing.py.
KEBAB_ENCRYPTION_KEYS = _encryption_keys()
DATABASES = {"default": _database()}
REDIS_URL = _text("REDIS_URL") or addresses.redis_url(KEBAB_DATA_DIR, KEBAB_RUNTIME_DIR)

# --- Search and ingestion ---------------------------------------------------------------------------------
KEBAB_EMBEDDER = _text("KEBAB_EMBEDDER", "default")
# More that workspaces may choose; how one is written: search/embedders/spec.py.
KEBAB_EMBEDDERS = _text("KEBAB_EMBEDDERS").split()
KEBAB_EMBED_URL = _text("KEBAB_EMBED_URL")
KEBAB_EMBED_API_KEYS = _keys("KEBAB_EMBED_API_KEY")
# A space that was live is kept full for so long, so that one command goes back to it.
KEBAB_KEEP_SPACE_DAYS = _whole_number("KEBAB_KEEP_SPACE_DAYS", 7)
KEBAB_EMBED_THREADS = _whole_number("KEBAB_EMBED_THREADS", os.cpu_count() or 1)
KEBAB_PARSERS = _whole_number("KEBAB_PARSERS", min(4, os.cpu_count() or 1))
KEBAB_LEG_LIMIT_MS = _whole_number("KEBAB_LEG_LIMIT_MS", 250)
KEBAB_SEARCH_STATEMENT_LIMIT_MS = 2_000
KEBAB_RERANKER = _text("KEBAB_RERANKER", "none")
KEBAB_RERANK_URL = _text("KEBAB_RERANK_URL")
KEBAB_RERANK_MODEL = _text("KEBAB_RERANK_MODEL")
KEBAB_RERANK_API_KEY = _text("KEBAB_RERANK_API_KEY")
KEBAB_RERANK_LIMIT_MS = _whole_number("KEBAB_RERANK_LIMIT_MS", 1_500)
# Names whose addresses may be private when Kebab sends requests there.
KEBAB_PRIVATE_HOSTS = frozenset(name.lower() for name in _items("KEBAB_PRIVATE_HOSTS"))
# As OpenSSL has them, for git too, which reads others: authorities to trust in place of the machine's.
SSL_CERT_FILE = _text("SSL_CERT_FILE")
SSL_CERT_DIR = _text("SSL_CERT_DIR")
KEBAB_WAIT_LIMIT_S = 30
KEBAB_BULK_LIMIT_S = _whole_number("KEBAB_BULK_LIMIT_S", 10)
# Ranked lists kept in Redis for one caller's next pages, in a quarter of an hour: some 7,000 of 190 hits.
KEBAB_CURSOR_LIMIT_BYTES = _whole_number("KEBAB_CURSOR_LIMIT_BYTES", 64_000_000)
# What the copy of one git repository may take on this node's disk, and how long one fetch.
KEBAB_GIT_LIMIT_BYTES = _whole_number("KEBAB_GIT_LIMIT_BYTES", 2_000_000_000)
KEBAB_GIT_LIMIT_S = _whole_number("KEBAB_GIT_LIMIT_S", 600)
# How often one site is asked by all workers together, how long for one page, and who answers for it: an
# address of the web or a mail address, which goes into the User-Agent.
KEBAB_CRAWL_REQUESTS_PER_S = _at_least_one("KEBAB_CRAWL_REQUESTS_PER_S", 2)
KEBAB_CRAWL_LIMIT_S = _at_least_one("KEBAB_CRAWL_LIMIT_S", 60)
KEBAB_CRAWL_CONTACT = _header_text("KEBAB_CRAWL_CONTACT")
KEBAB_UPLOAD_LIMIT_BYTES = _whole_number("KEBAB_UPLOAD_LIMIT_BYTES", 100_000_000)
KEBAB_ARCHIVE_LIMIT_BYTES = _whole_number("KEBAB_ARCHIVE_LIMIT_BYTES", 500_000_000)
KEBAB_ARCHIVE_UNPACKED_LIMIT_BYTES = _whole_number("KEBAB_ARCHIVE_UNPACKED_LIMIT_BYTES", 2_000_000_000)
KEBAB_ARCHIVE_MEMBER_LIMIT = _whole_number("KEBAB_ARCHIVE_MEMBER_LIMIT", 50_000)
# How long an upload that was not ingested can be tried again.
KEBAB_KEEP_UPLOAD_DAYS = _whole_number("KEBAB_KEEP_UPLOAD_DAYS", 7)
# An HNSW index is worth its build above this many vectors of a workspace; below it the exact scan wins.
KEBAB_EXACT_SCAN_LIMIT = _whole_number("KEBAB_EXACT_SCAN_LIMIT", 20_000)
KEBAB_LEASE_S = _whole_number("KEBAB_LEASE_S", 45)
# Set by drills alone; see kebab/failpoints.py.
KEBAB_FAILPOINT = _text("KEBAB_FAILPOINT")
KEBAB_WITHOUT = frozenset(_items("KEBAB_WITHOUT"))

# --- Django -----------------------------------------------------------------------------------------------
ALLOWED_HOSTS = _items("KEBAB_ALLOWED_HOSTS") or ["127.0.0.1", "localhost", "[::1]"]
CSRF_TRUSTED_ORIGINS = _items("KEBAB_TRUSTED_ORIGINS")
ROOT_URLCONF = "kebab.urls"
ASGI_APPLICATION = "kebab.asgi.application"
WSGI_APPLICATION = "kebab.wsgi.application"
AUTH_USER_MODEL = "people.User"
SESSION_ENGINE = "kebab.people.sessions"
DEFAULT_AUTO_FIELD = "django.db.models.BigAutoField"
LANGUAGE_CODE = "en"
TIME_ZONE = "UTC"
USE_TZ = True
USE_I18N = False
STATIC_URL = "static/"
LOGIN_URL = "login"
LOGIN_REDIRECT_URL = "home"
LOGOUT_REDIRECT_URL = "login"
APPEND_SLASH = False
DATA_UPLOAD_MAX_MEMORY_SIZE = KEBAB_UPLOAD_LIMIT_BYTES + 1_000_000

INSTALLED_APPS = [
    "django.contrib.admin",
    "django.contrib.auth",
    "django.contrib.contenttypes",
    "django.contrib.sessions",
    "django.contrib.messages",
    "django.contrib.staticfiles",
    "django.contrib.postgres",
    "rest_framework",
    "drf_spectacular",
    "drf_spectacular_sidecar",
    "kebab.people",
    "kebab.stack",
    "kebab.api",
    "kebab.health",
    "search",
    "ingest",
]

MIDDLEWARE = [
    "kebab.health.metrics.MeasureRequests",
    "django.middleware.security.SecurityMiddleware",
    "kebab.headers.ContentSecurityPolicy",
    "whitenoise.middleware.WhiteNoiseMiddleware",
    "django.contrib.sessions.middleware.SessionMiddleware",
    "django.middleware.common.CommonMiddleware",
    "django.middleware.csrf.CsrfViewMiddleware",
    "django.contrib.auth.middleware.AuthenticationMiddleware",
    "django.contrib.messages.middleware.MessageMiddleware",
    "django.middleware.clickjacking.XFrameOptionsMiddleware",
]
WHITENOISE_USE_FINDERS = True

TEMPLATES = [
    {
        "BACKEND": "django.template.backends.django.DjangoTemplates",
        "DIRS": [BASE_DIR / "kebab" / "templates"],
        "APP_DIRS": True,
        "OPTIONS": {
            "context_processors": [
                "django.template.context_processors.request",
                "django.contrib.auth.context_processors.auth",
                "django.contrib.messages.context_processors.messages",
            ]
        },
    }
]

AUTH_PASSWORD_VALIDATORS = [
    {"NAME": f"django.contrib.auth.password_validation.{name}"}
    for name in ("UserAttributeSimilarityValidator", "MinimumLengthValidator", "CommonPasswordValidator")
]

STORAGES = {
    "default": {
        "BACKEND": "django.core.files.storage.FileSystemStorage",
        "OPTIONS": {"location": DataDirectory(KEBAB_DATA_DIR).blobs},
    },
    "staticfiles": {"BACKEND": "django.contrib.staticfiles.storage.StaticFilesStorage"},
}

SECURE_CONTENT_TYPE_NOSNIFF = True
SECURE_REFERRER_POLICY = "same-origin"
X_FRAME_OPTIONS = "DENY"
# Behind a proxy that speaks TLS, KEBAB_HTTPS=1 turns on secure cookies, HSTS and the redirect.
_HTTPS = _claim("KEBAB_HTTPS", False)
SESSION_COOKIE_SECURE = CSRF_COOKIE_SECURE = SECURE_SSL_REDIRECT = _HTTPS
SECURE_HSTS_SECONDS = 31_536_000 if _HTTPS else 0
SECURE_HSTS_INCLUDE_SUBDOMAINS = SECURE_HSTS_PRELOAD = _HTTPS
SECURE_PROXY_SSL_HEADER = ("HTTP_X_FORWARDED_PROTO", "https") if _HTTPS else None

# --- REST framework ---------------------------------------------------------------------------------------
REST_FRAMEWORK = {
    "DEFAULT_AUTHENTICATION_CLASSES": [
        "kebab.api.authentication.TokenAuthentication",
        "kebab.api.authentication.PersonAuthentication",
    ],
    "DEFAULT_PERMISSION_CLASSES": ["rest_framework.permissions.IsAuthenticated"],
    "DEFAULT_RENDERER_CLASSES": ["rest_framework.renderers.JSONRenderer"],
    "DEFAULT_PARSER_CLASSES": ["kebab.api.parsers.StrictJSONParser"],
    "DEFAULT_SCHEMA_CLASS": "drf_spectacular.openapi.AutoSchema",
    "DEFAULT_PAGINATION_CLASS": None,
    "EXCEPTION_HANDLER": "kebab.api.errors.problem_response",
    "UNAUTHENTICATED_USER": "django.contrib.auth.models.AnonymousUser",
}

SPECTACULAR_SETTINGS = {
    "TITLE": "Kebab",
    "DESCRIPTION": "Shared knowledge, searched with exact citations.",
    "VERSION": "v1",
    "OAS_VERSION": "3.1.0",
    "SERVE_INCLUDE_SCHEMA": False,
    "SWAGGER_UI_DIST": "SIDECAR",
    "SWAGGER_UI_FAVICON_HREF": "SIDECAR",
    "SCHEMA_PATH_PREFIX": "/api/v1",
    "COMPONENT_SPLIT_REQUEST": True,
    "ENUM_NAME_OVERRIDES": {
        "ChunkKind": ["code", "info"],
        "ItemState": "ingest.models.ItemState",
        "JobKind": "ingest.models.JobKind",
        "JobState": "ingest.models.JobState",
        "SourceKind": "search.models.SourceKind",
        "SourceState": "search.models.SourceState",
        "SpaceState": "search.models.SpaceState",
        "TrustLevel": "search.models.Trust",
    },
}

# --- Celery: a message only wakes a worker (docs/decisions/0001) ------------------------------------------
CELERY_BROKER_URL = REDIS_URL
CELERY_TASK_SERIALIZER = "json"
CELERY_ACCEPT_CONTENT = ["json"]
CELERY_TASK_IGNORE_RESULT = True
CELERY_TASK_ACKS_LATE = True
CELERY_WORKER_PREFETCH_MULTIPLIER = 1
CELERY_WORKER_ENABLE_REMOTE_CONTROL = False
CELERY_WORKER_CANCEL_LONG_RUNNING_TASKS_ON_CONNECTION_LOSS = True
CELERY_WORKER_SOFT_SHUTDOWN_TIMEOUT = 30
CELERY_WORKER_HIJACK_ROOT_LOGGER = False
CELERY_BROKER_CONNECTION_RETRY_ON_STARTUP = True
CELERY_BROKER_CONNECTION_MAX_RETRIES = None
CELERY_TASK_DEFAULT_QUEUE = "maintenance"
CELERY_TASK_CREATE_MISSING_QUEUES = True
CELERY_BROKER_TRANSPORT_OPTIONS = {
    "visibility_timeout": 1800,
    "unacked_restore_interval": 5,
    "unacked_restore_throttle": 1,
    "health_check_interval": 10,
    "socket_timeout": 5,
    "socket_connect_timeout": 3,
    "socket_keepalive": True,
    "retry_on_timeout": True,
}
CELERY_TASK_PUBLISH_RETRY = False
CELERY_TASK_ROUTES = {
    "ingest.run_job": {"queue": "ingest"},
    "ingest.run_embedding": {"queue": "embed"},
    "search.sync_mirror": {"queue": "mirror"},
    "ingest.sweep": {"queue": "maintenance"},
    "ingest.request_due_syncs": {"queue": "maintenance"},
    "ingest.end_spaces": {"queue": "maintenance"},
    "ingest.release_expired": {"queue": "maintenance"},
    "search.prune_changes": {"queue": "maintenance"},
}
CELERY_BEAT_SCHEDULE = {
    "sweep": {"task": "ingest.sweep", "schedule": 5.0, "options": {"expires": 5}},
    "due-syncs": {"task": "ingest.request_due_syncs", "schedule": 15.0, "options": {"expires": 15}},
    "prune-idempotency-keys": {
        "task": "api.prune_idempotency_keys",
        "schedule": 3600.0,
        "options": {"expires": 600},
    },
    "prune-changes": {"task": "search.prune_changes", "schedule": 3600.0, "options": {"expires": 600}},
    "end-spaces": {"task": "ingest.end_spaces", "schedule": 3600.0, "options": {"expires": 600}},
    "release-expired": {"task": "ingest.release_expired", "schedule": 3600.0, "options": {"expires": 600}},
}

# --- Logging ----------------------------------------------------------------------------------------------
LOGGING = {
    "version": 1,
    "disable_existing_loggers": False,
    "formatters": {"line": {"format": "{asctime} {levelname} {name} {message}", "style": "{"}},
    "handlers": {"stderr": {"class": "logging.StreamHandler", "formatter": "line"}},
    "root": {"handlers": ["stderr"], "level": _text("KEBAB_LOG_LEVEL", "INFO")},
    "loggers": {
        "django.request": {"level": "ERROR"},
        "httpx": {"level": "WARNING"},
        "psycopg.pool": {"level": "ERROR"},
    },
}
