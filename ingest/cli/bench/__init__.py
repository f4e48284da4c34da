"""`kebab bench`: the speed budgets on this machine, each measurement in a file of its own."""
