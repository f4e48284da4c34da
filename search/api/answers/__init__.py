"""Questions and stored answers over HTTP."""
