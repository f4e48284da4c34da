"""Items of a job: parse, write, count."""
