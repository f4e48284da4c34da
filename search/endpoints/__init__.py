"""HTTP endpoints of models: settings and circuit breaker."""
