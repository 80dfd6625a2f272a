"""Trainings that are disturbed and must end like undisturbed ones: what is run, what disturbs it, what is compared."""
