"""Factories of the workspaces, people and clients that act in tests."""

from itertools import count

from rest_framework.test import APIClient

from kebab.identity.models import Membership, Role, User, Workspace
from kebab.identity.tokens import mint_token

_numbers = count(1)


def make_workspace(slug=None):
    slug = slug or f"space-{next(_numbers)}"
    return Workspace.objects.create(slug=slug, name=slug.title())


def make_person(email=None):
    return User.objects.create_user(email or f"person{next(_numbers)}@example.org")


def make_member(workspace, role=Role.VIEWER):
    user = make_person()
    Membership.objects.create(workspace=workspace, user=user, role=role)
    return user


def person_client(user):
    client = APIClient()
    client.force_login(user)
    return client


def member_client(workspace, role=Role.VIEWER):
    return person_client(make_member(workspace, role))


def token_client(workspace, *scopes):
    _, secret = mint_token(workspace, scopes=scopes)
    return bearer_client(secret)


def bearer_client(secret):
    client = APIClient()
    client.credentials(HTTP_AUTHORIZATION=f"Bearer {secret}")
    return client
