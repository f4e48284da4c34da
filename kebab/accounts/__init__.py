"""Sign-in: by password, through an OpenID Connect provider, or by accepting an invitation."""
