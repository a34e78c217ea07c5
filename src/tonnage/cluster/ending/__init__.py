"""How pods end and what it counts for: terminations, disruptions, and a Job's patience."""
