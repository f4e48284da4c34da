"""How the API's OpenAPI document introduces itself and names what is in it."""

from typing import Any, Final

#: drf-spectacular's settings, which are read before Django's apps are.
DESCRIPTION: Final[dict[str, Any]] = {
    "TITLE": "Kebab",
    "DESCRIPTION": "Shared knowledge, searched with exact citations.",
    "VERSION": "v1",
    "OAS_VERSION": "3.1.0",
    "SERVE_INCLUDE_SCHEMA": False,
    "SWAGGER_UI_DIST": "SIDECAR",
    "SWAGGER_UI_FAVICON_HREF": "SIDECAR",
    "SCHEMA_PATH_PREFIX": "/api/v1",
    "COMPONENT_SPLIT_REQUEST": True,
    # A PATCH says itself which of its fields may be left out.
    "COMPONENT_SPLIT_PATCH": False,
    "ENUM_NAME_OVERRIDES": {
        "InvitationState": "kebab.people.models.invitation.InvitationState",
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
