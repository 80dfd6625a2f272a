"""Reproduction of the paper: runs, tables and figures. Not part of the installed package."""
