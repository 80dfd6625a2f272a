"""Readers of users' files under damaged input: what is damaged and how, what reads it, and what must not happen."""
