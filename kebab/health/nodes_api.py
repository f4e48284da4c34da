"""`/status`: the running processes, queues and lag of all nodes, for operators."""

from drf_spectacular.utils import extend_schema
from rest_framework.request import Request
from rest_framework.response import Response

from kebab.errors import Forbidden
from kebab.http.api.views import ApiView
from kebab.stack.configuration import StackConfiguration
from kebab.stack.nodes.process_list import build_listing
from kebab.tenancy.current_workspace import acting_everywhere


class StatusView(ApiView):
    """The state of the stack."""

    @extend_schema(exclude=True)
    def get(self, request: Request) -> Response:
        """Return `status.v1`: processes, queues, and the reports of the apps. For operators only."""
        user = None if self.caller.personal_token else self.caller.user
        if self.caller.operator is None and not (user is not None and user.is_superuser):
            raise Forbidden("Only an operator may see the state of the stack.")
        with acting_everywhere():
            return Response(build_listing(StackConfiguration.from_settings()).as_json())
