"""Find the files of a data set: in the given folder, in ``$CONFGCN_DATA``, in the cache, else from their source."""

from __future__ import annotations

import hashlib
import http.client
import os
import urllib.request
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import IO

from rich.console import Console
from rich.progress import wrap_file

from confgcn.exceptions import DataError, ResourceError

DATA_VARIABLE = "CONFGCN_DATA"
TIMEOUT_SECONDS = 30
MAX_DOWNLOAD_BYTES = 256 * 2**20
CHUNK_BYTES = 2**16


@dataclass(frozen=True)
class Source:
    """The files of a data set, the folder they are customarily kept in, and where they are published.

    ``checksums`` maps every file to the SHA-256 it has at ``url``.
    """

    folder: str
    files: tuple[str, ...]
    url: str
    checksums: dict[str, str]


def cache_folder() -> Path:
    """Where downloads are kept: ``$XDG_CACHE_HOME/confgcn``, by default ``~/.cache/confgcn``."""
    base = os.environ.get("XDG_CACHE_HOME")
    try:
        return (Path(base) if base else Path.home() / ".cache") / "confgcn"
    except RuntimeError:  # a container may run as a user whom nobody knows
        known = f"HOME, XDG_CACHE_HOME or, for files that are there, {DATA_VARIABLE}"
        raise ResourceError(f"no folder to keep downloads in: this user has no home; set {known}") from None


def find(source: Source, data_dir: Path | None) -> Path | None:
    """The first folder that holds every file of the source."""
    return next((folder for folder in _candidates(source, data_dir) if not _missing(source, folder)), None)


def find_or_download(source: Source, data_dir: Path | None) -> Path:
    """The folder with the source's files, downloaded into the cache if they are nowhere."""
    return find(source, data_dir) or _download(source, data_dir)


def verify_files(folder: Path, checksums: dict[str, str]) -> None:
    """Every file has the SHA-256 of the published one."""
    for name, expected in checksums.items():
        _verify(folder / name, expected)


def _candidates(source: Source, data_dir: Path | None) -> Iterator[Path]:
    for root in _roots(data_dir):
        yield from (root / source.folder / "raw", root / source.folder, root / source.folder.lower(), root)


def _missing(source: Source, folder: Path) -> list[str]:
    return [name for name in source.files if not (folder / name).is_file()]


def _roots(data_dir: Path | None) -> Iterator[Path]:
    if data_dir is not None:
        if not data_dir.is_dir():
            raise ResourceError(f"data folder not found: {data_dir.absolute()}")
        yield data_dir
    if os.environ.get(DATA_VARIABLE):
        yield Path(os.environ[DATA_VARIABLE])
    with suppress(ResourceError):
        yield cache_folder()


def _verify(path: Path, expected: str) -> None:
    found = hashlib.sha256(path.read_bytes()).hexdigest()
    if found != expected:
        raise DataError(f"{path}: SHA-256 is {found}, expected {expected}: this is not the published file")


def _download(source: Source, data_dir: Path | None) -> Path:
    folder = cache_folder() / source.folder / "raw"
    try:
        folder.mkdir(parents=True, exist_ok=True)
        for name in _missing(source, folder):
            _download_file(f"{source.url}/{name}", folder / name, source.checksums[name])
    except (OSError, http.client.HTTPException) as error:
        raise ResourceError(_how_to_help(source, folder, data_dir, error)) from None
    return folder


def _how_to_help(source: Source, folder: Path, data_dir: Path | None, error: Exception) -> str:
    incomplete = [
        f"\n{place} lacks {', '.join(missing)}"
        for place in _candidates(source, data_dir)
        if (missing := _missing(source, place)) and len(missing) < len(source.files)
    ]
    return (
        f"{source.folder}: the files are not on this machine and could not be downloaded ({error}).\n"
        f"Looked in {', '.join(str(root) for root in _roots(data_dir))}.{''.join(incomplete)}\n"
        f"Put {', '.join(source.files)}\nfrom {source.url}\n"
        f"into {folder}, or into a folder given by --data-dir or the variable {DATA_VARIABLE}"
    )


def _download_file(url: str, path: Path, checksum: str) -> None:
    """Download beside ``path``, verify, then rename: a broken download never takes the file's name."""
    for left_over in path.parent.glob(f"{path.name}.*.part"):
        left_over.unlink()
    partial = path.with_name(f"{path.name}.{os.getpid()}.part")
    try:
        with urllib.request.urlopen(url, timeout=TIMEOUT_SECONDS) as response, partial.open("wb") as target:
            total = int(response.headers.get("Content-Length") or 0)
            with wrap_file(response, total, description=path.name, console=Console(stderr=True)) as stream:
                _copy(stream, target)
        if total not in (0, partial.stat().st_size):
            raise OSError(f"got {partial.stat().st_size} bytes of {total}")
        _verify(partial, checksum)
        partial.replace(path)
    except DataError:
        raise DataError(f"{url}: what was downloaded is not the published file") from None
    finally:
        partial.unlink(missing_ok=True)


def _copy(stream: IO[bytes], target: IO[bytes]) -> None:
    while chunk := stream.read(CHUNK_BYTES):
        target.write(chunk)
        if target.tell() > MAX_DOWNLOAD_BYTES:
            raise OSError(f"more than {MAX_DOWNLOAD_BYTES} bytes, which no benchmark file has")
