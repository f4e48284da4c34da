"""Search for programs that speak the interface of another product."""
