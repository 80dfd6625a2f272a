"""Trainings that are disturbed and must give the files of undisturbed ones."""
