"""Documents over HTTP: list, upload, change, delete."""
