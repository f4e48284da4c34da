"""URLs of the pages of questions and answers."""

from django.urls import path

from search.pages.ask.views import (
    AnswerCheckPage,
    AnswerPage,
    AnswersPage,
    AskPage,
    CitationPage,
    ConversationPage,
    delete_kept_answer,
)

urlpatterns = [
    path("w/<str:slug>/ask", AskPage.as_view(), name="ask"),
    path("w/<str:slug>/answers/<uuid:answer_id>", AnswerPage.as_view(), name="answer"),
    path(
        "w/<str:slug>/answers/<uuid:answer_id>/citations/<int:n>",
        CitationPage.as_view(),
        name="answer-citation",
    ),
    path("w/<str:slug>/answers/<uuid:answer_id>/check", AnswerCheckPage.as_view(), name="answer-check"),
    path("w/<str:slug>/answers/<uuid:answer_id>/delete", delete_kept_answer.as_view(), name="answer-delete"),
    path("w/<str:slug>/answers", AnswersPage.as_view(), name="answers"),
    path(
        "w/<str:slug>/conversations/<uuid:conversation_id>", ConversationPage.as_view(), name="conversation"
    ),
]
