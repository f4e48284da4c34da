"""Logs, traces, metrics and health checks."""
