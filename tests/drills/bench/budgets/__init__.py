"""Measurements of the speed budgets on this machine, one module each."""
