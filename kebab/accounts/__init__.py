"""How people sign in: with a password, through an OpenID Connect provider, or for the first time, invited."""
