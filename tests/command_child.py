"""The command line inside a process that already holds its imports; only the fixture ``start_command`` runs it.

What to run, where, within which limits and after which preparation comes as the global ``given``.
"""

from __future__ import annotations

import gc
import os
import resource
import sys
import warnings
from typing import Any

from confgcn.__main__ import run

given: dict[str, Any] = globals()["given"]

gc.freeze()  # to look through what was imported would copy it, which takes longer than most commands
os.chdir(given["folder"])
os.environ.clear()
os.environ.update(given["environment"])
warnings.resetwarnings()
for number, path in ((1, given["out"]), (2, given["errors"])):
    os.dup2(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_APPEND), number)
sys.stdin = open(os.devnull)  # noqa: SIM115, PTH123
sys.stdout, sys.stderr = (open(number, "w", closefd=False) for number in (1, 2))  # noqa: SIM115
for kind, highest in given["limits"].items():
    resource.setrlimit(kind, (highest, highest))
exec(given["before"], {})  # noqa: S102
sys.argv = ["confgcn", *given["words"]]
run()
