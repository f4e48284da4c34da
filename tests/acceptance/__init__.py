"""Acceptance tests of a running stack, by its commands and address alone; it stops after the last test."""
