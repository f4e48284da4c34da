"""Refusals as values, for tables of cases."""


def refusal_of(response):
    """Return status, code and first field of the problem that a response is; None for no field."""
    problem = response.json()
    fields = [error["field"] for error in problem.get("errors", [])]
    return response.status_code, problem["code"], fields[0] if fields else None
