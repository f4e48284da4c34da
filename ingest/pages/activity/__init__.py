"""Pages of activity: what people and schedules did to the sources, and what came of it."""
