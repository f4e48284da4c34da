"""Signing in through an OpenID Connect provider, which `KEBAB_OIDC_*` name, by django-allauth.

allauth speaks the protocol and keeps who is who; passwords, sessions, limits and pages are Kebab's own.
"""
