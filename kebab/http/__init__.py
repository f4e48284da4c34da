"""HTTP in: API plumbing, admission, rate limits, headers."""
