"""The command line: one file per command, which parses, calls and shows. Nothing here imports torch at the top."""
