"""Kebab's settings: the only place that reads the environment, by kebab/environment.py.

Without `DATABASE_URL` and `REDIS_URL` the embedded servers under `KEBAB_DATA_DIR` are used, with random
secrets created there; with external servers every secret must come from the environment.
"""

import os
import socket
from pathlib import Path
from typing import Any

from django.core.exceptions import ImproperlyConfigured

from kebab.accounts.configuration import (
    mail_settings,
    parse_networks,
    parse_oidc_issuer,
    parse_site_url,
    validate_rate,
)
from kebab.admin import theme
from kebab.environment import (
    commands,
    flag,
    folder,
    header_text,
    items,
    keys_by_suffix,
    positive_number,
    text,
    whole_number,
)
from kebab.http.api import framework_settings
from kebab.locations import data_directory
from kebab.observability.log_formats import logging_settings
from kebab.stack.paths import DataDirectory
from kebab.stack.servers import addresses, secrets
from kebab.stack.storage.blob_storage import blob_storage
from kebab.tasks.queues import celery_settings
from kebab.tenancy.postgres.base import CLIENT_TIMEOUTS, SERVER_TIMEOUTS

BASE_DIR = Path(__file__).resolve().parent.parent
DEBUG = flag("KEBAB_DEBUG", False)
# Matrices are small and searches share the cores: numpy's own threads would mostly wait for each other.
os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")

# --- Folders and addresses --------------------------------------------------------------------------------
KEBAB_DATA_DIR = folder("KEBAB_DATA_DIR") or data_directory()
KEBAB_RUNTIME_DIR = text("KEBAB_RUNTIME_DIR")
KEBAB_MIRROR_DIR = Path(text("KEBAB_MIRROR_DIR") or DataDirectory(KEBAB_DATA_DIR).mirrors)
# The folder of metrics of this node's processes; containers of one node share it.
KEBAB_METRICS_DIR = Path(text("KEBAB_METRICS_DIR") or DataDirectory(KEBAB_DATA_DIR).metrics)
# The port that serves metrics on machines without a web process; 0: none.
KEBAB_METRICS_PORT = whole_number("KEBAB_METRICS_PORT", 0)
# Bearer token for /metrics; required from other machines, and for per-workspace series.
KEBAB_METRICS_TOKEN = text("KEBAB_METRICS_TOKEN")
# Let anybody read /metrics, without per-workspace series.
KEBAB_METRICS_OPEN = flag("KEBAB_METRICS_OPEN", False)
# OpenTelemetry's own variable; its SDK reads further ones. Without it there is no tracing.
OTEL_EXPORTER_OTLP_ENDPOINT = text("OTEL_EXPORTER_OTLP_ENDPOINT")
KEBAB_NODE_ID = text("KEBAB_NODE_ID") or socket.gethostname()
KEBAB_HOST = text("KEBAB_HOST", "127.0.0.1")
KEBAB_PORT = whole_number("KEBAB_PORT", 8000)
KEBAB_FOLDER_ROOTS = [Path(part).resolve() for part in items("KEBAB_FOLDER_ROOTS", os.pathsep)]

# --- Embedded or external servers -------------------------------------------------------------------------
KEBAB_EMBEDDED_POSTGRES = not text("DATABASE_URL")
KEBAB_EMBEDDED_REDIS = not text("REDIS_URL")
KEBAB_POSTGRES_USER = text("KEBAB_POSTGRES_USER")
# The archive of versions up to 0.3.0: nothing is written there; it stays private, as it has documents.
KEBAB_WAL_ARCHIVE = folder("KEBAB_WAL_ARCHIVE")


def _secret_key() -> str:
    configured = text("KEBAB_SECRET_KEY")
    if configured:
        return configured
    if KEBAB_EMBEDDED_POSTGRES:
        return secrets.load_or_create(KEBAB_DATA_DIR).secret_key
    raise ImproperlyConfigured("KEBAB_SECRET_KEY is not set; with DATABASE_URL it must be given.")


def _encryption_keys() -> list[str]:
    configured = items("KEBAB_ENCRYPTION_KEYS")
    if configured or not KEBAB_EMBEDDED_POSTGRES:
        return configured
    return [secrets.load_or_create(KEBAB_DATA_DIR).encryption_key]


def _database(
    url: str, options: str, *, engine: str, is_standby: bool = False, **more: Any
) -> dict[str, Any]:
    config = addresses.parse_database_url(url, engine, is_standby=is_standby)
    config["CONN_MAX_AGE"] = 0
    config["OPTIONS"] = {**CLIENT_TIMEOUTS, **config.get("OPTIONS", {}), "options": options, **more}
    config["TEST"] = {"NAME": text("KEBAB_TEST_DATABASE") or None}
    return config


def _commit_option() -> str:
    """Return libpq's option for `synchronous_commit`; '' for the server's own."""
    level = text("KEBAB_SYNCHRONOUS_COMMIT") or ("on" if KEBAB_REQUIRE_SYNCHRONOUS_STANDBY else "")
    waiting = {"on", "remote_write", "remote_apply"}
    allowed = waiting if KEBAB_REQUIRE_SYNCHRONOUS_STANDBY else {"", "local", "off", *waiting}
    if level not in allowed:
        raise ImproperlyConfigured(
            f"KEBAB_SYNCHRONOUS_COMMIT is {level!r}; give one of {', '.join(sorted(allowed - {''}))}."
        )
    return level and f" -c synchronous_commit={level}"


def _databases() -> dict[str, dict[str, Any]]:
    """Return the database as the application's role, under row-level security, and as the tables' owner."""
    embedded = KEBAB_DATA_DIR, KEBAB_RUNTIME_DIR
    url = text("DATABASE_URL") or addresses.database_url(*embedded)
    owner_url = text("KEBAB_OWNER_DATABASE_URL") or text("DATABASE_URL")
    options = (
        f"-c statement_timeout={KEBAB_STATEMENT_TIMEOUT_MS} -c lock_timeout=5000"
        f" -c idle_in_transaction_session_timeout=15000{SERVER_TIMEOUTS}{_commit_option()}"
    )
    pooled: dict[str, Any] = {"engine": "kebab.tenancy.postgres", "pool": {"idle_limit_s": 120.0}}
    application = _database(url, options, **pooled)
    if read_url := text("KEBAB_DATABASE_READ_URL"):
        application["STANDBY"] = _database(read_url, options, is_standby=True, **pooled)
    owner = _database(
        owner_url or addresses.database_url(*embedded, role=addresses.DATABASE_OWNER),
        # No statement timeout: indexes on large tables take long. Migrations see the rows of all workspaces.
        "-c lock_timeout=5000 -c kebab.workspace_id=*",
        engine="django.db.backends.postgresql",
    )
    owner["TEST"]["MIRROR"] = "default"
    return {"default": application, "owner": owner}


KEBAB_WEB_WORKERS = positive_number("KEBAB_WEB_WORKERS", 2)
KEBAB_WEB_THREADS = positive_number("KEBAB_WEB_THREADS", 8)
# Concurrent event streams, streamed answers and MCP calls in one web process; they hold no thread.
KEBAB_WEB_STREAMS = positive_number("KEBAB_WEB_STREAMS", 256)
# How long a stopping web process keeps serving while its readiness probe fails.
KEBAB_DRAIN_S = whole_number("KEBAB_DRAIN_S", 0)
KEBAB_WORKER_SLOTS = positive_number("KEBAB_WORKER_SLOTS", 2)
KEBAB_STATEMENT_TIMEOUT_MS = whole_number("KEBAB_STATEMENT_TIMEOUT_MS", 30_000)
# Refuse writes that would be acknowledged before a standby has them.
KEBAB_REQUIRE_SYNCHRONOUS_STANDBY = flag("KEBAB_REQUIRE_SYNCHRONOUS_STANDBY", False)
# The greatest age of the last commit that a standby has replayed: see kebab/tenancy/postgres/standby.py.
KEBAB_STANDBY_MAX_LAG = whole_number("KEBAB_STANDBY_MAX_LAG", 10)

SECRET_KEY = _secret_key()
# Signatures under these stay valid; see docs/operations/rotate.md.
SECRET_KEY_FALLBACKS = items("KEBAB_SECRET_KEY_FALLBACKS")
# The first encrypts credentials of sources, all of them decrypt; see kebab/encryption.py.
KEBAB_ENCRYPTION_KEYS = _encryption_keys()
DATABASES = _databases()
REDIS_URL = (
    addresses.check_redis_url(text("REDIS_URL"))
    if text("REDIS_URL")
    else addresses.redis_url(KEBAB_DATA_DIR, KEBAB_RUNTIME_DIR)
)

# --- Search and ingestion ---------------------------------------------------------------------------------
KEBAB_EMBEDDER = text("KEBAB_EMBEDDER", "default")
# Further embedders that workspaces may choose; their syntax: search/embedders/spec.py.
KEBAB_EMBEDDERS = text("KEBAB_EMBEDDERS").split()
KEBAB_EMBED_URL = text("KEBAB_EMBED_URL")
KEBAB_EMBED_API_KEYS = keys_by_suffix("KEBAB_EMBED_API_KEY")
# How long a former live space stays complete, so that one command can switch back to it.
KEBAB_KEEP_SPACE_DAYS = whole_number("KEBAB_KEEP_SPACE_DAYS", 7)
KEBAB_EMBED_THREADS = whole_number("KEBAB_EMBED_THREADS", os.cpu_count() or 1)
KEBAB_PARSERS = whole_number("KEBAB_PARSERS", min(4, os.cpu_count() or 1))
# Eviction of mirrors: those unused for this long (0: never), and the least recently used while all mirrors of
# a node exceed the limit (0: none). The next search builds an evicted mirror again.
KEBAB_MIRROR_IDLE_DAYS = whole_number("KEBAB_MIRROR_IDLE_DAYS", 30)
KEBAB_MIRROR_LIMIT_BYTES = whole_number("KEBAB_MIRROR_LIMIT_BYTES", 0)
KEBAB_LEG_LIMIT_MS = whole_number("KEBAB_LEG_LIMIT_MS", 250)
# All legs and stages of a request's searches; it cuts the limits of each leg.
KEBAB_SEARCH_LIMIT_MS = positive_number("KEBAB_SEARCH_LIMIT_MS", 2_500)
KEBAB_SEARCH_STATEMENT_LIMIT_MS = positive_number("KEBAB_SEARCH_STATEMENT_LIMIT_MS", 2_000)
# Prepare search statements once on each connection; without it their texts are in Postgres' logs.
KEBAB_PLAN_ONCE = flag("KEBAB_PLAN_ONCE", True)
KEBAB_RERANKER = text("KEBAB_RERANKER", "none")
KEBAB_RERANK_URL = text("KEBAB_RERANK_URL")
KEBAB_RERANK_MODEL = text("KEBAB_RERANK_MODEL")
KEBAB_RERANK_API_KEY = text("KEBAB_RERANK_API_KEY")
KEBAB_RERANK_LIMIT_MS = whole_number("KEBAB_RERANK_LIMIT_MS", 1_500)
# Without a model answers are composed of sentences from the documents.
KEBAB_ANSWER_URL = text("KEBAB_ANSWER_URL")
KEBAB_ANSWER_MODEL = text("KEBAB_ANSWER_MODEL")
KEBAB_ANSWER_API_KEY = text("KEBAB_ANSWER_API_KEY")
KEBAB_ANSWER_CONTEXT_TOKENS = whole_number("KEBAB_ANSWER_CONTEXT_TOKENS", 8_192)
KEBAB_ANSWER_LIMIT_S = whole_number("KEBAB_ANSWER_LIMIT_S", 50)
KEBAB_ANSWER_STREAM = flag("KEBAB_ANSWER_STREAM", True)
# Host names to which Kebab may send requests although they resolve to private addresses.
KEBAB_PRIVATE_HOSTS = frozenset(name.lower() for name in items("KEBAB_PRIVATE_HOSTS"))
# OpenSSL's variables, applied to git too, which reads others: certificate authorities to trust instead of
# the system's.
SSL_CERT_FILE = text("SSL_CERT_FILE")
SSL_CERT_DIR = text("SSL_CERT_DIR")
KEBAB_WAIT_LIMIT_S = 30
KEBAB_BULK_LIMIT_S = positive_number("KEBAB_BULK_LIMIT_S", 2)
# How often a process writes its query log; 0: no query log.
KEBAB_QUERY_LOG_EVERY_S = whole_number("KEBAB_QUERY_LOG_EVERY_S", 5)
# Memory of ranked lists stored in Redis for next pages, for 15 minutes: some 7,000 lists of 190 hits.
KEBAB_CURSOR_LIMIT_BYTES = whole_number("KEBAB_CURSOR_LIMIT_BYTES", 64_000_000)
# Limits of one git repository's copy on this node's disk, and of the time of one fetch.
KEBAB_GIT_LIMIT_BYTES = whole_number("KEBAB_GIT_LIMIT_BYTES", 2_000_000_000)
KEBAB_GIT_LIMIT_S = whole_number("KEBAB_GIT_LIMIT_S", 600)
# Crawling: requests to one site by all workers together, the time limit of one page, and the contact in the
# User-Agent header: a URL or a mail address.
KEBAB_CRAWL_REQUESTS_PER_S = positive_number("KEBAB_CRAWL_REQUESTS_PER_S", 2)
KEBAB_CRAWL_LIMIT_S = positive_number("KEBAB_CRAWL_LIMIT_S", 60)
KEBAB_CRAWL_CONTACT = header_text("KEBAB_CRAWL_CONTACT")
# Programs that sources may be read by: `name=command; name=command`.
KEBAB_CONNECTORS = commands("KEBAB_CONNECTORS")
# The largest code file and the largest other file of a source; larger ones are skipped.
KEBAB_CODE_LIMIT_BYTES = positive_number("KEBAB_CODE_LIMIT_BYTES", 512 * 1024)
KEBAB_DOCUMENT_LIMIT_BYTES = positive_number("KEBAB_DOCUMENT_LIMIT_BYTES", 100 * 1024**2)
KEBAB_UPLOAD_LIMIT_BYTES = whole_number("KEBAB_UPLOAD_LIMIT_BYTES", 100_000_000)
KEBAB_ARCHIVE_LIMIT_BYTES = whole_number("KEBAB_ARCHIVE_LIMIT_BYTES", 500_000_000)
KEBAB_ARCHIVE_UNPACKED_LIMIT_BYTES = whole_number("KEBAB_ARCHIVE_UNPACKED_LIMIT_BYTES", 2_000_000_000)
KEBAB_ARCHIVE_MEMBER_LIMIT = whole_number("KEBAB_ARCHIVE_MEMBER_LIMIT", 50_000)
# Default quotas of a workspace, which an operator may change for each; 0: no limit.
KEBAB_QUOTAS = {
    "documents": whole_number("KEBAB_QUOTA_DOCUMENTS", 0),
    "bytes": whole_number("KEBAB_QUOTA_BYTES", 0),
    "jobs": whole_number("KEBAB_QUOTA_JOBS", 10_000),
}
# How long a failed upload is retained, to be retried.
KEBAB_KEEP_UPLOAD_DAYS = whole_number("KEBAB_KEEP_UPLOAD_DAYS", 7)
# From this number of vectors of a workspace on, the searching process scans them quantised to bytes; from the
# second number on an HNSW index is used, which is approximate.
KEBAB_CODES_FROM = positive_number("KEBAB_CODES_FROM", 100)
KEBAB_EXACT_SCAN_LIMIT = whole_number("KEBAB_EXACT_SCAN_LIMIT", 400_000)
# PostgreSQL's memory for building that index, which takes some 1,600 bytes for a vector of 384 dimensions.
KEBAB_INDEX_MEMORY_BYTES = positive_number("KEBAB_INDEX_MEMORY_BYTES", 1_000_000_000)
KEBAB_LEASE_S = positive_number("KEBAB_LEASE_S", 45)
# Set by drills only; see kebab/runtime/failpoints.py.
KEBAB_FAILPOINT = text("KEBAB_FAILPOINT")
KEBAB_WITHOUT = frozenset(items("KEBAB_WITHOUT"))

# --- Sign-in, limits --------------------------------------------------------------------------------------
KEBAB_OIDC_CLIENT_ID = text("KEBAB_OIDC_CLIENT_ID")
KEBAB_OIDC_CLIENT_SECRET = text("KEBAB_OIDC_CLIENT_SECRET")
KEBAB_OIDC_ISSUER = parse_oidc_issuer(
    text("KEBAB_OIDC_ISSUER"), KEBAB_OIDC_CLIENT_ID, KEBAB_OIDC_CLIENT_SECRET
)
KEBAB_OIDC_NAME = text("KEBAB_OIDC_NAME", "single sign-on")
# Whether users of the provider get an account on first sign-in; else they must be invited first.
KEBAB_OIDC_SIGNUP = flag("KEBAB_OIDC_SIGNUP", False)
# Proxies whose X-Forwarded-For header is trusted.
KEBAB_TRUSTED_PROXIES = parse_networks("KEBAB_TRUSTED_PROXIES", items("KEBAB_TRUSTED_PROXIES"))
KEBAB_RATE_LIMIT = validate_rate("KEBAB_RATE_LIMIT", text("KEBAB_RATE_LIMIT", "30000/minute"))
KEBAB_BAD_TOKEN_LIMIT = validate_rate("KEBAB_BAD_TOKEN_LIMIT", text("KEBAB_BAD_TOKEN_LIMIT", "60/minute"))
# The time limit of counting a request in Redis; with the network below 50 ms.
KEBAB_COUNT_LIMIT_MS = 25
# Failed sign-ins from one network address: for one account, and for all together.
KEBAB_SIGN_IN_LIMITS = {
    "account": validate_rate("KEBAB_SIGN_IN_LIMIT", text("KEBAB_SIGN_IN_LIMIT", "10/15 minutes")),
    "address": validate_rate(
        "KEBAB_SIGN_IN_ADDRESS_LIMIT", text("KEBAB_SIGN_IN_ADDRESS_LIMIT", "100/15 minutes")
    ),
}
KEBAB_MAIL_LIMITS = {"account": "5/hour", "address": "20/hour"}
# Invitations over HTTP by one person, to one workspace, for one address.
KEBAB_INVITATION_LIMITS = {"inviter": "50/hour", "workspace": "100/hour", "address": "5/hour"}
# OAuth clients that register themselves from one network address.
KEBAB_CLIENT_LIMIT = "100/hour"
# Addresses without an account that one person may try to add as members.
KEBAB_UNKNOWN_PEOPLE_LIMIT = "20/hour"

# The token whose rights `kebab mcp` uses; without it those of the operator, who reads everything.
KEBAB_TOKEN = text("KEBAB_TOKEN")

# --- Django -----------------------------------------------------------------------------------------------
# The base URL of links in mails; empty: the host of the request.
KEBAB_URL = parse_site_url(text("KEBAB_URL"))
# Local names always: the command line of this machine asks there.
ALLOWED_HOSTS = [*items("KEBAB_ALLOWED_HOSTS"), "127.0.0.1", "localhost", "[::1]"]
CSRF_TRUSTED_ORIGINS = items("KEBAB_TRUSTED_ORIGINS")
ROOT_URLCONF = "kebab.urls"
AUTH_USER_MODEL = "people.User"
SESSION_ENGINE = "kebab.identity.sessions"
DEFAULT_AUTO_FIELD = "django.db.models.BigAutoField"
LANGUAGE_CODE = "en"
TIME_ZONE = "UTC"
USE_TZ = True
USE_I18N = True
LANGUAGES = [("en", "English"), ("de", "Deutsch"), ("fr", "Français")]
LOCALE_PATHS = [BASE_DIR / "kebab" / "locale"]
FORMAT_MODULE_PATH = "kebab.admin.formats"
STATIC_URL = "static/"
LOGIN_URL = "login"
LOGIN_REDIRECT_URL = "home"
APPEND_SLASH = False
DATA_UPLOAD_MAX_MEMORY_SIZE = KEBAB_UPLOAD_LIMIT_BYTES + 1_000_000

INSTALLED_APPS = [
    "kebab.admin",
    # Its default configuration would replace kebab.admin.site by a site of its own.
    "unfold.apps.BasicAppConfig",
    "unfold.contrib.filters",
    # The default one would import every app's admin in each process; `kebab.admin.site` does it on first use.
    "django.contrib.admin.apps.SimpleAdminConfig",
    "django.contrib.auth",
    "django.contrib.contenttypes",
    "django.contrib.sessions",
    "django.contrib.messages",
    "django.contrib.staticfiles",
    "django.contrib.humanize",
    "django.contrib.postgres",
    "rest_framework",
    "drf_spectacular",
    "drf_spectacular_sidecar",
    "allauth.account",
    "allauth.socialaccount",
    "allauth.socialaccount.providers.openid_connect",
    "kebab.accounts",
    "kebab.identity",
    "kebab.people",
    "kebab.cli",
    "kebab.stack",
    "kebab.http.api",
    "kebab.health",
    "kebab.pages",
    "kebab.webhooks",
    "django_htmx",
    "search",
    "ingest",
]

# Requests to the API with a token take some of these: see `kebab.http.handlers`.
# Of scripts on other sites' pages, as far as a workspace allows them; and of MCP clients, at the endpoints
# of OAuth. Neither sends cookies.
CORS_URLS_REGEX = r"^/(api/v1/workspaces/|oauth/|\.well-known/oauth-)"
CORS_ALLOW_HEADERS = (
    *("authorization", "content-type", "idempotency-key", "last-event-id"),
    "mcp-protocol-version",
)
CORS_EXPOSE_HEADERS = (
    *("Idempotency-Replayed", "Kebab-Seq", "Kebab-Seq-Token", "Link", "Location"),
    *("RateLimit-Limit", "RateLimit-Remaining", "RateLimit-Reset", "Retry-After"),
)
CORS_PREFLIGHT_MAX_AGE = 3_600

MIDDLEWARE = [
    "kebab.http.request_id.IdentifyRequests",
    "kebab.accounts.middleware.BeginRequests",
    "kebab.observability.metrics.requests.MeasureRequests",
    "kebab.http.security_headers.SecurityHeaders",
    "kebab.http.security_headers.AllowOrigins",
    "django.middleware.security.SecurityMiddleware",
    "kebab.http.compression.CompressStaticFiles",
    "whitenoise.middleware.WhiteNoiseMiddleware",
    "django.contrib.sessions.middleware.SessionMiddleware",
    "django.middleware.common.CommonMiddleware",
    "django.middleware.csrf.CsrfViewMiddleware",
    "django.contrib.auth.middleware.AuthenticationMiddleware",
    "kebab.tenancy.middleware.ActInAdmin",
    "django.contrib.messages.middleware.MessageMiddleware",
    "kebab.accounts.profile.ApplyPreferences",
    "kebab.http.rate_limits.middleware.LimitPages",
    "django_htmx.middleware.HtmxMiddleware",
    "allauth.account.middleware.AccountMiddleware",
    "django.middleware.clickjacking.XFrameOptionsMiddleware",
]
WHITENOISE_USE_FINDERS = True
# Addresses of static files change with their content (kebab/http/static_files.py), not of embed.js.
WHITENOISE_IMMUTABLE_FILE_TEST = r"(?<!/search/embed\.js)$"

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
    {
        "NAME": "django.contrib.auth.password_validation.UserAttributeSimilarityValidator",
        "OPTIONS": {"user_attributes": ("email", "display_name")},
    },
    {
        "NAME": "django.contrib.auth.password_validation.MinimumLengthValidator",
        "OPTIONS": {"min_length": 12},
    },
    {"NAME": "django.contrib.auth.password_validation.CommonPasswordValidator"},
    {"NAME": "kebab.accounts.password_validators.DecoratedPasswordValidator"},
]
# The first hashes passwords; the second still verifies older ones, which are then hashed again.
PASSWORD_HASHERS = [
    "kebab.accounts.password_validators.ArgonHasher",
    "django.contrib.auth.hashers.PBKDF2PasswordHasher",
]
PASSWORD_RESET_TIMEOUT = 2 * 3600

# django-allauth is used for the OpenID Connect provider only (kebab/accounts/oidc.py).
ACCOUNT_ADAPTER = "kebab.accounts.oidc.AccountAdapter"
ACCOUNT_USER_MODEL_USERNAME_FIELD = None
ACCOUNT_LOGIN_METHODS = {"email"}
ACCOUNT_SIGNUP_FIELDS = ["email*"]
ACCOUNT_EMAIL_VERIFICATION = "none"
ACCOUNT_RATE_LIMITS = False
SOCIALACCOUNT_ADAPTER = "kebab.accounts.oidc.ProviderAdapter"

# Not to the console: the web process's output is a log, and logs must not hold password reset links.
globals().update(mail_settings(text("KEBAB_EMAIL_URL"), DataDirectory(KEBAB_DATA_DIR).mail))
DEFAULT_FROM_EMAIL = SERVER_EMAIL = text("KEBAB_EMAIL_FROM", "kebab@localhost")

STORAGES = {
    "default": blob_storage(text("KEBAB_BLOBS_URL"), DataDirectory(KEBAB_DATA_DIR).blobs),
    "staticfiles": {"BACKEND": "kebab.http.static_files.HashedStaticFiles"},
}

SESSION_COOKIE_HTTPONLY = True
SESSION_COOKIE_SAMESITE = CSRF_COOKIE_SAMESITE = "Lax"
SECURE_CONTENT_TYPE_NOSNIFF = True
SECURE_REFERRER_POLICY = "same-origin"
X_FRAME_OPTIONS = "DENY"
# Behind a TLS proxy, KEBAB_HTTPS=1 turns on secure cookies, HSTS and the redirect to HTTPS.
_HTTPS = flag("KEBAB_HTTPS", False)
SESSION_COOKIE_SECURE = CSRF_COOKIE_SECURE = SECURE_SSL_REDIRECT = _HTTPS
SECURE_HSTS_SECONDS = 31_536_000 if _HTTPS else 0
SECURE_HSTS_INCLUDE_SUBDOMAINS = SECURE_HSTS_PRELOAD = _HTTPS
SECURE_PROXY_SSL_HEADER = ("HTTP_X_FORWARDED_PROTO", "https") if _HTTPS else None

# --- Admin ------------------------------------------------------------------------------------------------
UNFOLD = theme.UNFOLD

# --- REST framework ---------------------------------------------------------------------------------------
REST_FRAMEWORK, SPECTACULAR_SETTINGS = (
    framework_settings.REST_FRAMEWORK,
    framework_settings.SPECTACULAR_SETTINGS,
)

# --- Celery: a message only wakes a worker (docs/decisions/0001) ------------------------------------------
globals().update(celery_settings(REDIS_URL))

# --- Logging ----------------------------------------------------------------------------------------------
LOGGING = logging_settings(text("KEBAB_LOG_LEVEL", "INFO"), text("KEBAB_LOG_FORMAT", "line"), KEBAB_NODE_ID)
