"""Admission control: which requests run, wait or are refused when a process is busy."""
