"""The command line inside a process that already holds its imports; run by the fixture ``outside`` and by nothing else.

``words``, ``folder``, ``environment``, ``out`` and ``errors`` are given as globals.
"""

from __future__ import annotations

import os
import resource
import sys
import warnings

from confgcn.__main__ import run

words: list[str]
folder: str
environment: dict[str, str]
limits: dict[int, int]
out: str
errors: str

os.chdir(folder)
os.environ.update(environment)
warnings.resetwarnings()
for number, path in ((1, out), (2, errors)):
    file = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_APPEND)
    os.dup2(file, number)
sys.stdin, sys.stdout, sys.stderr = open(os.devnull), open(1, "w", closefd=False), open(2, "w", closefd=False)  # noqa: SIM115, PTH123
for kind, highest in limits.items():
    resource.setrlimit(kind, (highest, highest))
sys.argv = ["confgcn", *words]
run()
