"""Judged sets: reading them, asking their queries, measuring the answers, recording how."""
