"""Search in a bundle without a server."""
