"""Kebab's settings: the only place that reads the environment, by kebab/environment.py.

Without `DATABASE_URL` and `REDIS_URL` the embedded servers under `KEBAB_DATA_DIR` are used and secrets are
made at random there; with external servers every secret must come from the environment.
"""

import os
import socket
from pathlib import Path
from typing import Any

import dj_database_url
from django.core.exceptions import ImproperlyConfigured

from kebab.accounts.configuration import checked_rate, mail_settings, networks, oidc_issuer, site_url
from kebab.admin import theme
from kebab.environment import at_least_one, claim, folder, header_text, items, keys, text, whole_number
from kebab.http.api import framework_settings
from kebab.observability.log_config import logging_settings
from kebab.stack.paths import DataDirectory
from kebab.stack.servers import addresses, secrets
from kebab.stack.storage.blob_storage import blob_storage
from kebab.tasks.queues import celery_settings
from kebab.tenancy.postgres.availability import LINE, SERVER_LINE

BASE_DIR = Path(__file__).resolve().parent.parent
DEBUG = claim("KEBAB_DEBUG", False)
# Matrices are small here and searches share the cores: numpy's own threads would spend both on waiting.
os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")

# --- Where things are -------------------------------------------------------------------------------------
KEBAB_DATA_DIR = folder("KEBAB_DATA_DIR") or (BASE_DIR / ".kebab").resolve()
KEBAB_RUNTIME_DIR = text("KEBAB_RUNTIME_DIR")
KEBAB_MIRROR_DIR = Path(text("KEBAB_MIRROR_DIR") or DataDirectory(KEBAB_DATA_DIR).mirrors)
# Where the processes of this node count; containers of one node share it.
KEBAB_METRICS_DIR = Path(text("KEBAB_METRICS_DIR") or DataDirectory(KEBAB_DATA_DIR).metrics)
# Where processes that are no web process tell of it, on machines without one; 0: nowhere.
KEBAB_METRICS_PORT = whole_number("KEBAB_METRICS_PORT", 0)
# Bearer token for /metrics; required from other machines, and for per-workspace series.
KEBAB_METRICS_TOKEN = text("KEBAB_METRICS_TOKEN")
# Let anybody read /metrics, without per-workspace series.
KEBAB_METRICS_OPEN = claim("KEBAB_METRICS_OPEN", False)
# OpenTelemetry's own name; its SDK reads further ones. Without it no trace is taken.
OTEL_EXPORTER_OTLP_ENDPOINT = text("OTEL_EXPORTER_OTLP_ENDPOINT")
KEBAB_NODE_ID = text("KEBAB_NODE_ID") or socket.gethostname()
KEBAB_HOST = text("KEBAB_HOST", "127.0.0.1")
KEBAB_PORT = whole_number("KEBAB_PORT", 8000)
KEBAB_FOLDER_ROOTS = [Path(part).resolve() for part in items("KEBAB_FOLDER_ROOTS", os.pathsep)]

# --- Embedded or external servers -------------------------------------------------------------------------
KEBAB_EMBEDDED_POSTGRES = not text("DATABASE_URL")
KEBAB_EMBEDDED_REDIS = not text("REDIS_URL")
KEBAB_POSTGRES_USER = text("KEBAB_POSTGRES_USER")
# All that happens is copied there, so that a backup leads to any later moment (docs/operations/backup.md).
KEBAB_WAL_ARCHIVE = folder("KEBAB_WAL_ARCHIVE")


def _secret_key() -> str:
    given = text("KEBAB_SECRET_KEY")
    if given:
        return given
    if KEBAB_EMBEDDED_POSTGRES:
        return secrets.load_or_create(KEBAB_DATA_DIR).secret_key
    raise ImproperlyConfigured("KEBAB_SECRET_KEY is not set; with DATABASE_URL it must be given.")


def _encryption_keys() -> list[str]:
    given = items("KEBAB_ENCRYPTION_KEYS")
    if given or not KEBAB_EMBEDDED_POSTGRES:
        return given
    return [secrets.load_or_create(KEBAB_DATA_DIR).encryption_key]


def _database(url: str, options: str, *, engine: str, **more: Any) -> dict[str, Any]:
    config: dict[str, Any] = dict(dj_database_url.parse(url, engine=engine))
    config["CONN_MAX_AGE"] = 0
    config["OPTIONS"] = {**LINE, **config.get("OPTIONS", {}), "options": options, **more}
    config["TEST"] = {"NAME": text("KEBAB_TEST_DATABASE") or None}
    return config


def _databases() -> dict[str, dict[str, Any]]:
    """Return the database as the application's role, behind row-level security, and as the tables' owner."""
    embedded = [KEBAB_DATA_DIR, KEBAB_RUNTIME_DIR]
    url = text("DATABASE_URL") or addresses.database_url(*embedded)
    owner_url = text("KEBAB_OWNER_DATABASE_URL") or text("DATABASE_URL")
    application = _database(
        url,
        f"-c statement_timeout={KEBAB_STATEMENT_TIMEOUT_MS} -c lock_timeout=5000"
        f" -c idle_in_transaction_session_timeout=15000{SERVER_LINE}",
        engine="kebab.tenancy.postgres",
        pool={"idle_limit_s": 120.0},
    )
    owner = _database(
        owner_url or addresses.database_url(*embedded, role=addresses.DATABASE_OWNER),
        # An index on a large table takes its time; migrations see the rows of all workspaces.
        "-c lock_timeout=5000 -c kebab.workspace_id=*",
        engine="django.db.backends.postgresql",
    )
    owner["TEST"]["MIRROR"] = "default"
    return {"default": application, "owner": owner}


KEBAB_WEB_WORKERS = at_least_one("KEBAB_WEB_WORKERS", 2)
KEBAB_WEB_THREADS = at_least_one("KEBAB_WEB_THREADS", 8)
# Event streams, streamed answers and MCP calls at once in one web process; they hold no thread.
KEBAB_WEB_STREAMS = at_least_one("KEBAB_WEB_STREAMS", 256)
# How long a web process that is told to stop serves on while it says that it is not ready for more.
KEBAB_DRAIN_S = whole_number("KEBAB_DRAIN_S", 0)
KEBAB_WORKER_SLOTS = at_least_one("KEBAB_WORKER_SLOTS", 2)
KEBAB_STATEMENT_TIMEOUT_MS = whole_number("KEBAB_STATEMENT_TIMEOUT_MS", 30_000)

SECRET_KEY = _secret_key()
# What was signed under these stays good; see docs/operations/rotate.md.
SECRET_KEY_FALLBACKS = items("KEBAB_SECRET_KEY_FALLBACKS")
# The first seals credentials of sources, all of them open what was sealed; see kebab/encryption.py.
KEBAB_ENCRYPTION_KEYS = _encryption_keys()
DATABASES = _databases()
REDIS_URL = text("REDIS_URL") or addresses.redis_url(KEBAB_DATA_DIR, KEBAB_RUNTIME_DIR)

# --- Search and ingestion ---------------------------------------------------------------------------------
KEBAB_EMBEDDER = text("KEBAB_EMBEDDER", "default")
# More that workspaces may choose; how one is written: search/embedders/spec.py.
KEBAB_EMBEDDERS = text("KEBAB_EMBEDDERS").split()
KEBAB_EMBED_URL = text("KEBAB_EMBED_URL")
KEBAB_EMBED_API_KEYS = keys("KEBAB_EMBED_API_KEY")
# A space that was live is kept full for so long, so that one command goes back to it.
KEBAB_KEEP_SPACE_DAYS = whole_number("KEBAB_KEEP_SPACE_DAYS", 7)
KEBAB_EMBED_THREADS = whole_number("KEBAB_EMBED_THREADS", os.cpu_count() or 1)
KEBAB_PARSERS = whole_number("KEBAB_PARSERS", min(4, os.cpu_count() or 1))
# A mirror that no search has used for so long is dropped, and made anew by the next; 0: never. So are those
# that were not used for longest while all of a node's together take more than the limit; 0: there is none.
KEBAB_MIRROR_IDLE_DAYS = whole_number("KEBAB_MIRROR_IDLE_DAYS", 30)
KEBAB_MIRROR_LIMIT_BYTES = whole_number("KEBAB_MIRROR_LIMIT_BYTES", 0)
KEBAB_LEG_LIMIT_MS = whole_number("KEBAB_LEG_LIMIT_MS", 250)
KEBAB_SEARCH_STATEMENT_LIMIT_MS = whole_number("KEBAB_SEARCH_STATEMENT_LIMIT_MS", 2_000)
# Searches have PostgreSQL prepare their statements once a connection; a pooler that hands connections on
# after each transaction, like PgBouncer's, needs it off.
KEBAB_PLAN_ONCE = claim("KEBAB_PLAN_ONCE", True)
KEBAB_RERANKER = text("KEBAB_RERANKER", "none")
KEBAB_RERANK_URL = text("KEBAB_RERANK_URL")
KEBAB_RERANK_MODEL = text("KEBAB_RERANK_MODEL")
KEBAB_RERANK_API_KEY = text("KEBAB_RERANK_API_KEY")
KEBAB_RERANK_LIMIT_MS = whole_number("KEBAB_RERANK_LIMIT_MS", 1_500)
# Without a model answers are made of the documents' own sentences.
KEBAB_ANSWER_URL = text("KEBAB_ANSWER_URL")
KEBAB_ANSWER_MODEL = text("KEBAB_ANSWER_MODEL")
KEBAB_ANSWER_API_KEY = text("KEBAB_ANSWER_API_KEY")
KEBAB_ANSWER_CONTEXT_TOKENS = whole_number("KEBAB_ANSWER_CONTEXT_TOKENS", 8_192)
KEBAB_ANSWER_LIMIT_S = whole_number("KEBAB_ANSWER_LIMIT_S", 50)
KEBAB_ANSWER_STREAM = claim("KEBAB_ANSWER_STREAM", True)
# Names whose addresses may be private when Kebab sends requests there.
KEBAB_PRIVATE_HOSTS = frozenset(name.lower() for name in items("KEBAB_PRIVATE_HOSTS"))
# As OpenSSL has them, for git too, which reads others: authorities to trust in place of the machine's.
SSL_CERT_FILE = text("SSL_CERT_FILE")
SSL_CERT_DIR = text("SSL_CERT_DIR")
KEBAB_WAIT_LIMIT_S = 30
KEBAB_BULK_LIMIT_S = whole_number("KEBAB_BULK_LIMIT_S", 10)
# How often a process writes down which queries it answered; 0: it keeps none.
KEBAB_QUERY_LOG_EVERY_S = whole_number("KEBAB_QUERY_LOG_EVERY_S", 5)
# Ranked lists kept in Redis for one caller's next pages, in a quarter of an hour: some 7,000 of 190 hits.
KEBAB_CURSOR_LIMIT_BYTES = whole_number("KEBAB_CURSOR_LIMIT_BYTES", 64_000_000)
# What the copy of one git repository may take on this node's disk, and how long one fetch.
KEBAB_GIT_LIMIT_BYTES = whole_number("KEBAB_GIT_LIMIT_BYTES", 2_000_000_000)
KEBAB_GIT_LIMIT_S = whole_number("KEBAB_GIT_LIMIT_S", 600)
# How often one site is asked by all workers together, how long for one page, and who answers for it: an
# address of the web or a mail address, which goes into the User-Agent.
KEBAB_CRAWL_REQUESTS_PER_S = at_least_one("KEBAB_CRAWL_REQUESTS_PER_S", 2)
KEBAB_CRAWL_LIMIT_S = at_least_one("KEBAB_CRAWL_LIMIT_S", 60)
KEBAB_CRAWL_CONTACT = header_text("KEBAB_CRAWL_CONTACT")
# What a listing takes of a file of code and of any other; a larger one is skipped.
KEBAB_CODE_LIMIT_BYTES = at_least_one("KEBAB_CODE_LIMIT_BYTES", 512 * 1024)
KEBAB_DOCUMENT_LIMIT_BYTES = at_least_one("KEBAB_DOCUMENT_LIMIT_BYTES", 100 * 1024**2)
KEBAB_UPLOAD_LIMIT_BYTES = whole_number("KEBAB_UPLOAD_LIMIT_BYTES", 100_000_000)
KEBAB_ARCHIVE_LIMIT_BYTES = whole_number("KEBAB_ARCHIVE_LIMIT_BYTES", 500_000_000)
KEBAB_ARCHIVE_UNPACKED_LIMIT_BYTES = whole_number("KEBAB_ARCHIVE_UNPACKED_LIMIT_BYTES", 2_000_000_000)
KEBAB_ARCHIVE_MEMBER_LIMIT = whole_number("KEBAB_ARCHIVE_MEMBER_LIMIT", 50_000)
# What a workspace may hold and ask for, unless its operator says otherwise; 0: no limit.
KEBAB_QUOTAS = {
    "documents": whole_number("KEBAB_QUOTA_DOCUMENTS", 0),
    "bytes": whole_number("KEBAB_QUOTA_BYTES", 0),
    "jobs": whole_number("KEBAB_QUOTA_JOBS", 10_000),
}
# How long an upload that was not ingested can be tried again.
KEBAB_KEEP_UPLOAD_DAYS = whole_number("KEBAB_KEEP_UPLOAD_DAYS", 7)
# From so many vectors of a workspace on they are scanned as bytes by the process that searches, and from the
# second number on an HNSW index answers, which misses some.
KEBAB_CODES_FROM = at_least_one("KEBAB_CODES_FROM", 2_000)
KEBAB_EXACT_SCAN_LIMIT = whole_number("KEBAB_EXACT_SCAN_LIMIT", 400_000)
# Memory of PostgreSQL's for building one, which takes some 1,600 bytes a vector of 384 numbers.
KEBAB_INDEX_MEMORY_BYTES = at_least_one("KEBAB_INDEX_MEMORY_BYTES", 1_000_000_000)
KEBAB_LEASE_S = at_least_one("KEBAB_LEASE_S", 45)
# Set by drills alone; see kebab/runtime/failpoints.py.
KEBAB_FAILPOINT = text("KEBAB_FAILPOINT")
KEBAB_WITHOUT = frozenset(items("KEBAB_WITHOUT"))

# --- Signing in, limits -----------------------------------------------------------------------------------
KEBAB_OIDC_CLIENT_ID = text("KEBAB_OIDC_CLIENT_ID")
KEBAB_OIDC_CLIENT_SECRET = text("KEBAB_OIDC_CLIENT_SECRET")
KEBAB_OIDC_ISSUER = oidc_issuer(text("KEBAB_OIDC_ISSUER"), KEBAB_OIDC_CLIENT_ID, KEBAB_OIDC_CLIENT_SECRET)
KEBAB_OIDC_NAME = text("KEBAB_OIDC_NAME", "single sign-on")
# Whether the provider's people get accounts by signing in; else they must have been invited before.
KEBAB_OIDC_SIGNUP = claim("KEBAB_OIDC_SIGNUP", False)
# Proxies whose X-Forwarded-For is believed.
KEBAB_TRUSTED_PROXIES = networks("KEBAB_TRUSTED_PROXIES", items("KEBAB_TRUSTED_PROXIES"))
KEBAB_RATE_LIMIT = checked_rate("KEBAB_RATE_LIMIT", text("KEBAB_RATE_LIMIT", "30000/minute"))
KEBAB_BAD_TOKEN_LIMIT = checked_rate("KEBAB_BAD_TOKEN_LIMIT", text("KEBAB_BAD_TOKEN_LIMIT", "60/minute"))
# A request waits no longer for Redis to count it; together with the way there it is below 50 ms.
KEBAB_COUNT_LIMIT_MS = 25
# Failures from one address of the network: for one account, and for all together.
KEBAB_SIGN_IN_LIMITS = {
    "account": checked_rate("KEBAB_SIGN_IN_LIMIT", text("KEBAB_SIGN_IN_LIMIT", "10/15 minutes")),
    "address": checked_rate(
        "KEBAB_SIGN_IN_ADDRESS_LIMIT", text("KEBAB_SIGN_IN_ADDRESS_LIMIT", "100/15 minutes")
    ),
}
KEBAB_MAIL_LIMITS = {"account": "5/hour", "address": "20/hour"}
# Made over HTTP by one person, to one workspace, for one address.
KEBAB_INVITATION_LIMITS = {"inviter": "50/hour", "workspace": "100/hour", "address": "5/hour"}
# Addresses without an account that one person may name as a new member's.
KEBAB_UNKNOWN_PEOPLE_LIMIT = "20/hour"

# As whom `kebab mcp` answers; without it as the operator, who reads everything.
KEBAB_TOKEN = text("KEBAB_TOKEN")

# --- Django -----------------------------------------------------------------------------------------------
# What links in mails begin with; empty: what the request was addressed to.
KEBAB_URL = site_url(text("KEBAB_URL"))
ALLOWED_HOSTS = items("KEBAB_ALLOWED_HOSTS") or ["127.0.0.1", "localhost", "[::1]"]
CSRF_TRUSTED_ORIGINS = items("KEBAB_TRUSTED_ORIGINS")
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
FORMAT_MODULE_PATH = "kebab.admin.formats"
STATIC_URL = "static/"
LOGIN_URL = "login"
LOGIN_REDIRECT_URL = "home"
APPEND_SLASH = False
DATA_UPLOAD_MAX_MEMORY_SIZE = KEBAB_UPLOAD_LIMIT_BYTES + 1_000_000

INSTALLED_APPS = [
    "kebab.admin",
    # Its other configuration would put a site of its own in the place of kebab.admin.site.
    "unfold.apps.BasicAppConfig",
    "unfold.contrib.filters",
    # The other would import every app's admin in each process; `kebab.admin.site` does where it is shown.
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
    "kebab.people",
    "kebab.stack",
    "kebab.http.api",
    "kebab.observability.health",
    "kebab.pages",
    "django_htmx",
    "search",
    "ingest",
]

MIDDLEWARE = [
    "kebab.http.request_id.IdentifyRequests",
    "kebab.tenancy.middleware.ActNowhere",
    "kebab.observability.metrics.requests.MeasureRequests",
    "kebab.http.security_headers.SecurityHeaders",
    "django.middleware.security.SecurityMiddleware",
    "kebab.http.compression.CompressStaticFiles",
    "whitenoise.middleware.WhiteNoiseMiddleware",
    "django.contrib.sessions.middleware.SessionMiddleware",
    "django.middleware.common.CommonMiddleware",
    "django.middleware.csrf.CsrfViewMiddleware",
    "django.contrib.auth.middleware.AuthenticationMiddleware",
    "kebab.tenancy.middleware.ActInAdmin",
    "django.contrib.messages.middleware.MessageMiddleware",
    "kebab.accounts.middleware.AuditAddress",
    "kebab.http.rate_limits.middleware.LimitPages",
    "django_htmx.middleware.HtmxMiddleware",
    "allauth.account.middleware.AccountMiddleware",
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
    {
        "NAME": "django.contrib.auth.password_validation.UserAttributeSimilarityValidator",
        "OPTIONS": {"user_attributes": ("email", "display_name")},
    },
    {
        "NAME": "django.contrib.auth.password_validation.MinimumLengthValidator",
        "OPTIONS": {"min_length": 12},
    },
    {"NAME": "django.contrib.auth.password_validation.CommonPasswordValidator"},
    {"NAME": "kebab.accounts.password_validators.DressedUpPasswordValidator"},
]
# The first hashes; the second still checks passwords that were set before, and they are hashed anew then.
PASSWORD_HASHERS = [
    "kebab.accounts.hashers.ArgonHasher",
    "django.contrib.auth.hashers.PBKDF2PasswordHasher",
]
PASSWORD_RESET_TIMEOUT = 2 * 3600

# django-allauth speaks to the OpenID Connect provider, and does nothing else (kebab/accounts/oidc).
ACCOUNT_ADAPTER = "kebab.accounts.oidc.adapters.AccountAdapter"
ACCOUNT_USER_MODEL_USERNAME_FIELD = None
ACCOUNT_LOGIN_METHODS = {"email"}
ACCOUNT_SIGNUP_FIELDS = ["email*"]
ACCOUNT_EMAIL_VERIFICATION = "none"
ACCOUNT_RATE_LIMITS = False
SOCIALACCOUNT_ADAPTER = "kebab.accounts.oidc.adapters.ProviderAdapter"

# Not to the console: what the web process prints is a log, and a log holds no links that set passwords.
globals().update(mail_settings(text("KEBAB_EMAIL_URL"), DataDirectory(KEBAB_DATA_DIR).mail))
DEFAULT_FROM_EMAIL = SERVER_EMAIL = text("KEBAB_EMAIL_FROM", "kebab@localhost")

STORAGES = {
    "default": blob_storage(text("KEBAB_BLOBS_URL"), DataDirectory(KEBAB_DATA_DIR).blobs),
    "staticfiles": {"BACKEND": "django.contrib.staticfiles.storage.StaticFilesStorage"},
}

SESSION_COOKIE_HTTPONLY = True
SESSION_COOKIE_SAMESITE = CSRF_COOKIE_SAMESITE = "Lax"
SECURE_CONTENT_TYPE_NOSNIFF = True
SECURE_REFERRER_POLICY = "same-origin"
X_FRAME_OPTIONS = "DENY"
# Behind a proxy that speaks TLS, KEBAB_HTTPS=1 turns on secure cookies, HSTS and the redirect.
_HTTPS = claim("KEBAB_HTTPS", False)
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
