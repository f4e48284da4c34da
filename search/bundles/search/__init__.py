"""Search of a bundle without a server."""
