"""Runners of jobs: one module per kind."""
