"""`kebab bench`: measurements of the speed budgets on this machine, one module each."""
