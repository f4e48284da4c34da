"""The HTTP client for outgoing requests: permitted addresses, deadlines, size limits."""
