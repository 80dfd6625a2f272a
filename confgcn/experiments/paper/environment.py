"""On what a result was computed."""

from __future__ import annotations

import hashlib
import os
import platform
from importlib.metadata import version
from pathlib import Path
from typing import Any

from confgcn import kernels
from confgcn.experiments.outputs import LIBRARIES
from confgcn.training.files import to_json

CPU_INFO = Path("/proc/cpuinfo")


def environment() -> tuple[str, dict[str, Any]]:
    """Versions and hardware, and their hash."""
    found = {
        "python": platform.python_version(),
        "versions": {name: version(name) for name in LIBRARIES},
        "system": f"{platform.system()} {platform.machine()}",
        "processor": _processor(),
        "cores": os.cpu_count(),
        "kernels": kernels.active_name(),
        "threads": 1,
    }
    return hashlib.sha256(to_json(found)).hexdigest()[:16], found


def _processor() -> str:
    lines = CPU_INFO.read_text().splitlines() if CPU_INFO.is_file() else []
    names = [line.partition(":")[2].strip() for line in lines if line.startswith("model name")]
    return names[0] if names else platform.processor() or "unknown"
