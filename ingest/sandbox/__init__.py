"""Sandbox of parsing and chunking: separate processes with limits on time and memory."""
