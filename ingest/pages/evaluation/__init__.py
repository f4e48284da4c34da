"""Pages of topics, runs and feedback."""
