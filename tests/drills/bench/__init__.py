"""Measurements of the speed budgets, of Kebab beside peers, and of how costs grow."""
