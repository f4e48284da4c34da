"""Topics, judgements and feedback over HTTP."""
