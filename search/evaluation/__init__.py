"""Evaluation of search quality: judged sets, runs over their queries, measures and records of runs."""
