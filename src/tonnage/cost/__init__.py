"""What capacity costs: prices with their origin and date, in whole micro-dollars; pure."""
