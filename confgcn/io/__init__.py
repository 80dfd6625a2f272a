"""Everything that talks to the operating system: files, checksums, locks, signals, memory and threads."""
