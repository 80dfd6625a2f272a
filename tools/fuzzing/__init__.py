"""Fuzzing: the readers, the damage to their files, and the detectors of faults."""
