"""`/schemas/{name}`: the published JSON Schemas, for anyone."""

from django.http import JsonResponse
from drf_spectacular.utils import extend_schema
from rest_framework.permissions import AllowAny
from rest_framework.request import Request
from rest_framework.views import APIView

from kebab.errors import NotFound
from kebab.http.api.openapi_schema import KebabSchema, load_schema, schema_names
from kebab.http.api.serializers import StrictSerializer, strict_query
from kebab.http.api.views import SingleFormatNegotiation

_KEEP_S = 3_600


class WireSchemaView(APIView):
    """One JSON Schema."""

    authentication_classes = ()
    permission_classes = (AllowAny,)
    content_negotiation_class = SingleFormatNegotiation
    http_method_names = ("get", "head")
    schema = KebabSchema()

    @extend_schema(responses={(200, "application/schema+json"): {"type": "object"}})
    def get(self, request: Request, name: str) -> JsonResponse:
        """Return the schema of a name such as `search_hit.v1`; a suffix `.json` is allowed."""
        strict_query(request, StrictSerializer)
        bare = name.removesuffix(".json")
        if bare not in schema_names():
            raise NotFound
        return JsonResponse(
            load_schema(bare),
            content_type="application/schema+json",
            headers={"Cache-Control": f"public, max-age={_KEEP_S}"},
        )
