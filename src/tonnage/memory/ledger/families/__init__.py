"""One program per architecture family, written as its library writes it."""
