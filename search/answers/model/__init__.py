"""The chat model: settings, transport, checks."""
