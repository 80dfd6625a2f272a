"""Write checksums of a run directory that match its changed files, as a forger would."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from confgcn.io.checksums import SUMS, digest, write_checksums
from confgcn.io.json_files import CHECKSUM_KEY, to_json


def seal(file: Path) -> None:
    """Of the file itself, of the record beside tensors, and of the whole folder."""
    if file.suffix == ".safetensors":
        record = file.with_suffix(".json")
        _reseal(record, tensors_sha256=digest(file.read_bytes()))
    elif file.suffix == ".json":
        _reseal(file)
    folder = file.parent
    if (folder / SUMS).is_file() and file.name != SUMS:
        names = [line.split("  ", 1)[1] for line in (folder / SUMS).read_text().splitlines() if "  " in line]
        write_checksums(folder, [folder / name for name in names], not_yet_written={})


def seal_mapped(file: Path) -> None:
    """Of an array of a mapped graph, or of the record of all."""
    record = file.with_name("mapped.json")
    try:
        arrays = json.loads(record.read_bytes())["arrays"]
        if file.suffix == ".npy":
            arrays[file.stem]["sha256"] = digest(file.read_bytes())
        _reseal(record, arrays=arrays)
    except (ValueError, KeyError, TypeError, RecursionError):
        return  # there is no record to make fit


def seal_shards(file: Path) -> None:
    """Of a file in a folder of shards, or of the record of all."""
    folder = file.parent.parent if file.parent.name.startswith("shard-") else file.parent
    record = folder / "partition.json"
    try:
        files = json.loads(record.read_bytes())["files"]
        if file != record:
            files[str(file.relative_to(folder))] = digest(file.read_bytes())
        _reseal(record, files=files)
    except (ValueError, KeyError, TypeError, RecursionError):
        return


def seal_arrays(file: Path) -> None:
    """Of an array in a folder of mapped arrays, or of the record of all."""
    record = file.with_name("arrays.json")
    try:
        files = json.loads(record.read_bytes())["files"]
        if file != record:
            files[file.name] = digest(file.read_bytes())
        _reseal(record, files=files)
    except (ValueError, KeyError, TypeError, RecursionError):
        return


def _reseal(file: Path, **changes: Any) -> None:
    try:
        content = json.loads(file.read_bytes())
        if isinstance(content, dict) and CHECKSUM_KEY in content:
            content = {key: value for key, value in content.items() if key != CHECKSUM_KEY} | changes
            file.write_bytes(to_json({**content, CHECKSUM_KEY: digest(to_json(content))}))
    except (ValueError, RecursionError):
        return  # no JSON, so that no seal can be right
