"""Requests made up from the OpenAPI document, right and wrong: no answer may be a 5xx or break it."""
