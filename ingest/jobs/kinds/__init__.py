"""One module per kind of job."""
