"""Connectors on the protocol `kebab.connector.v1`."""
