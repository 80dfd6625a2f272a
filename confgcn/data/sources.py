"""Find the files of a data set: in the given folder, in ``$CONFGCN_DATA``, in the cache, else from their source."""

from __future__ import annotations

import hashlib
import http.client
import os
import urllib.request
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from rich.console import Console
from rich.progress import wrap_file

from confgcn.exceptions import DataError, ResourceError

DATA_VARIABLE = "CONFGCN_DATA"
TIMEOUT_SECONDS = 30
MAX_DOWNLOAD_BYTES = 256 * 2**20


@dataclass(frozen=True)
class Source:
    """The files of a data set, the folder they are customarily kept in, and where they are published.

    ``checksums`` maps file names to SHA-256; a name without one is checked by its content after reading.
    """

    folder: str
    files: tuple[str, ...]
    url: str
    checksums: dict[str, str]


def cache_folder() -> Path:
    """Where downloads are kept: ``$XDG_CACHE_HOME/confgcn``, by default ``~/.cache/confgcn``."""
    base = os.environ.get("XDG_CACHE_HOME")
    return (Path(base) if base else Path.home() / ".cache") / "confgcn"


def find(source: Source, data_dir: Path | None) -> Path | None:
    """The first folder that holds every file of the source."""
    for root in _roots(data_dir):
        for folder in (root / source.folder / "raw", root / source.folder, root / source.folder.lower(), root):
            if all((folder / name).is_file() for name in source.files):
                return folder
    return None


def find_or_download(source: Source, data_dir: Path | None) -> Path:
    """The folder with the source's files, downloaded into the cache if they are nowhere; checksums verified."""
    folder = find(source, data_dir) or _download(source)
    for name, expected in source.checksums.items():
        _verify(folder / name, expected)
    return folder


def _roots(data_dir: Path | None) -> Iterator[Path]:
    if data_dir is not None:
        if not data_dir.is_dir():
            raise ResourceError(f"data folder not found: {data_dir.absolute()}")
        yield data_dir
    if os.environ.get(DATA_VARIABLE):
        yield Path(os.environ[DATA_VARIABLE])
    yield cache_folder()


def _verify(path: Path, expected: str) -> None:
    found = hashlib.sha256(path.read_bytes()).hexdigest()
    if found != expected:
        raise DataError(f"{path}: SHA-256 is {found}, expected {expected}: this is not the published file")


def _download(source: Source) -> Path:
    folder = cache_folder() / source.folder / "raw"
    try:
        folder.mkdir(parents=True, exist_ok=True)
        for name in source.files:
            if not (folder / name).is_file():
                _download_file(f"{source.url}/{name}", folder / name, source.checksums.get(name))
    except (OSError, http.client.HTTPException) as error:
        raise ResourceError(
            f"{source.folder}: the files are not on this machine and could not be downloaded ({error}).\n"
            f"Put {', '.join(source.files)}\nfrom {source.url}\n"
            f"into {folder}, or into a folder given by --data-dir or the variable {DATA_VARIABLE}"
        ) from None
    return folder


def _download_file(url: str, path: Path, checksum: str | None) -> None:
    """Download beside ``path``, verify, then rename: a broken download never takes the file's name."""
    partial = path.with_name(f"{path.name}.{os.getpid()}.part")
    try:
        with urllib.request.urlopen(url, timeout=TIMEOUT_SECONDS) as response:
            total = int(response.headers.get("Content-Length") or 0)
            with wrap_file(response, total, description=path.name, console=Console(stderr=True)) as stream:
                content = stream.read(MAX_DOWNLOAD_BYTES)
        if total not in (0, len(content)) or len(content) == MAX_DOWNLOAD_BYTES:
            raise OSError(f"got {len(content)} bytes of {total or 'an endless file'}")
        partial.write_bytes(content)
        if checksum is not None:
            _verify(partial, checksum)
        partial.replace(path)
    except DataError:
        raise DataError(f"{url}: what was downloaded is not the published file") from None
    finally:
        partial.unlink(missing_ok=True)
