"""Settings of REST framework and of the OpenAPI document, which are read before Django's apps."""

from typing import Any, Final

REST_FRAMEWORK: Final[dict[str, Any]] = {
    "DEFAULT_AUTHENTICATION_CLASSES": [
        "kebab.http.api.authentication.TokenAuthentication",
        "kebab.http.api.authentication.PersonAuthentication",
    ],
    "DEFAULT_PERMISSION_CLASSES": ["rest_framework.permissions.IsAuthenticated"],
    "DEFAULT_RENDERER_CLASSES": ["rest_framework.renderers.JSONRenderer"],
    "DEFAULT_PARSER_CLASSES": ["kebab.http.api.parsers.StrictJSONParser"],
    "DEFAULT_SCHEMA_CLASS": "drf_spectacular.openapi.AutoSchema",
    "DEFAULT_PAGINATION_CLASS": None,
    "EXCEPTION_HANDLER": "kebab.http.api.problems.respond_to_error",
    "UNAUTHENTICATED_USER": "django.contrib.auth.models.AnonymousUser",
}

#: Title, version and component names of the OpenAPI document.
SPECTACULAR_SETTINGS: Final[dict[str, Any]] = {
    "TITLE": "Kebab",
    "DESCRIPTION": "Shared knowledge, searched with exact citations.",
    "VERSION": "v1",
    "OAS_VERSION": "3.1.0",
    "SERVE_INCLUDE_SCHEMA": False,
    "SWAGGER_UI_DIST": "SIDECAR",
    "SWAGGER_UI_FAVICON_HREF": "SIDECAR",
    "SCHEMA_PATH_PREFIX": "/api/v1",
    "COMPONENT_SPLIT_REQUEST": True,
    # The serializer of a PATCH declares its optional fields itself.
    "COMPONENT_SPLIT_PATCH": False,
    "ENUM_GENERATE_CHOICE_DESCRIPTION": False,
    "POSTPROCESSING_HOOKS": [
        "drf_spectacular.hooks.postprocess_schema_enums",
        "kebab.http.api.openapi_schema.add_components",
        "kebab.http.api.openapi_schema.merge_any_values",
    ],
    "ENUM_NAME_OVERRIDES": {
        "InvitationState": "kebab.identity.models.invitation.InvitationState",
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
