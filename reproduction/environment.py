"""On what a result was computed."""

from __future__ import annotations

import os
import platform
from pathlib import Path
from typing import Any

from confgcn.runs.outputs import software
from reproduction.jobs import digest

CPU_INFO = Path("/proc/cpuinfo")


def environment() -> tuple[str, dict[str, Any]]:
    """Versions and hardware, and their hash."""
    found = {
        **software(),
        "system": f"{platform.system()} {platform.machine()}",
        "processor": _processor(),
        "cores": os.cpu_count(),
        "threads": 1,
    }
    return digest(found), found


def _processor() -> str:
    lines = CPU_INFO.read_text().splitlines() if CPU_INFO.is_file() else []
    names = [line.partition(":")[2].strip() for line in lines if line.startswith("model name")]
    return names[0] if names else platform.processor() or "unknown"
