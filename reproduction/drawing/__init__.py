"""Tables and figures from their numbers."""
