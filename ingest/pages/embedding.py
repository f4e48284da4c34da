"""The page of a workspace's embedding model, on which it is changed while searches go on."""

from operator import itemgetter
from typing import Any, ClassVar

from django.contrib import messages
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect
from django.utils.translation import gettext as _

from ingest.services.embedding import build_space, retire_space, roll_back_space, switch_space
from ingest.services.embedding_status import embedding_status
from kebab.errors import InvalidRequest, Problem
from kebab.identity.caller import MANAGERS, Need
from kebab.identity.models import Workspace
from kebab.pages.page import ActionPage, apply_problem
from search.models import SpaceState


class EmbeddingPage(ActionPage):
    """The embedding spaces with their coverage, and what can be done with each."""

    need: ClassVar[Need] = MANAGERS
    tab: ClassVar[str] = "settings"

    def show(self, request: HttpRequest, workspace: Workspace) -> HttpResponse:
        """Return the page."""
        return self._page(request, workspace)

    def act(self, request: HttpRequest, workspace: Workspace) -> HttpResponse:
        """Build, switch, roll back or delete a space. Raises InvalidRequest, NotFound, and their errors."""
        match request.POST.get("act"):
            case "build":
                space = build_space(self.access, embedder=request.POST.get("embedder", ""))
                is_live = space.state == SpaceState.LIVE
                said = (
                    _("Searches go on with this model.")
                    if is_live
                    else _("Searches use the old model until the new one is ready.")
                )
                messages.success(request, said)
            case "switch":
                switch_space(self.access, force="force" in request.POST)
                messages.success(request, _("Searches use the new model."))
            case "roll_back":
                roll_back_space(self.access)
                messages.success(request, _("Searches use the previous model again."))
            case "delete":
                retire_space(self.access, _space_id(request))
                messages.success(request, _("Deleting the model’s vectors."))
            case other:
                raise InvalidRequest(f"act: {other!r} is not one of build, switch, roll_back, delete.")
        return redirect("settings-embedding", workspace.slug)

    def render_problem(self, request: HttpRequest, problem: Problem) -> HttpResponse:
        """Render the page with the reason why nothing was changed."""
        if request.method != "POST" or self.workspace is None or problem.status in {403, 404}:
            return super().render_problem(request, problem)
        page = self._page(request, self.workspace, problem=problem, may_force=problem.may_force)
        return apply_problem(page, problem)

    def _page(self, request: HttpRequest, workspace: Workspace, **context: Any) -> HttpResponse:
        status = embedding_status(workspace, self.access.reader)
        kept = [(each.live_until, each) for each in status.retired if each.live_until]
        share = status.english_share
        context |= {
            "status": status,
            "english_percent": None if share is None else 100 * share,
            "spaces": [each for each in (status.live, status.building, *status.retired) if each],
            "previous": max(kept, default=(None, None), key=itemgetter(0))[1],
            "section": "embedding",
        }
        return self.render(request, "ingest/embedding.html", **context)


def _space_id(request: HttpRequest) -> int:
    typed = request.POST.get("space", "")
    if not (typed.isascii() and typed.isdecimal() and len(typed) < 19):
        raise InvalidRequest(f"space: {typed[:40]!r} is not the number of a space.")
    return int(typed)
