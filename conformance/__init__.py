"""Proof against the real thing: our rules and the real components are asked the same questions and must agree."""
