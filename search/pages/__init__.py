"""The pages that people see in a browser: rendered here, usable without JavaScript."""
