"""Ink: tables, pictures and prose from numbers that are already there. Nothing here trains or measures."""
