"""Jobs over HTTP, and their progress as server-sent events."""
