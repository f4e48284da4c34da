"""Evaluation runs and the quality gate over HTTP."""
