"""Find the files of a data set in the given folder, ``$CONFGCN_DATA`` or the cache, or download them into the cache."""

from __future__ import annotations

import os
import time
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from confgcn.exceptions import DataError, ResourceError
from confgcn.io.checksums import file_digest

DATA_VARIABLE = "CONFGCN_DATA"
TIMEOUT_SECONDS = 30
MAX_DOWNLOAD_BYTES = 256 * 2**20
CHUNK_BYTES = 2**16
STALE_SECONDS = 3600  # a temporary file of that age belongs to a download that was killed


@dataclass(frozen=True)
class DatasetFiles:
    """The files of a data set.

    Attributes:
        folder: the name of the folder in which other libraries keep them.
        url: the address of the folder in which they are published.
        checksums: the SHA-256 of every file, by its name.
    """

    folder: str
    url: str
    checksums: dict[str, str]


def cache_folder() -> Path:
    """Where downloads are kept: ``$XDG_CACHE_HOME/confgcn``, by default ``~/.cache/confgcn``."""
    base = os.environ.get("XDG_CACHE_HOME")
    try:
        return (Path(base) if base else Path.home() / ".cache") / "confgcn"
    except RuntimeError:  # a container may run under a user id without an account
        known = f"HOME, XDG_CACHE_HOME or, for existing files, {DATA_VARIABLE}"
        raise ResourceError(f"no folder for downloads: this user has no home; set {known}") from None


def find(files: DatasetFiles, data_dir: Path | None) -> Path | None:
    """The first folder that holds all of the files."""
    return next((folder for folder in _candidates(files, data_dir) if not _missing(files, folder)), None)


def find_or_download(files: DatasetFiles, data_dir: Path | None) -> Path:
    """The folder with the files, downloaded into the cache if they are not on this machine."""
    return find(files, data_dir) or _download(files, data_dir)


def verify_files(folder: Path, checksums: dict[str, str]) -> None:
    """Check that every file has the SHA-256 of the published one."""
    for name, expected in checksums.items():
        actual = file_digest(folder / name)
        if actual != expected:
            raise DataError(
                f"{folder / name}: SHA-256 is {actual}, expected {expected}: this is not the published file"
            )


def _candidates(files: DatasetFiles, data_dir: Path | None) -> Iterator[Path]:
    for root in _roots(data_dir):
        yield from (root / files.folder / "raw", root / files.folder, root / files.folder.lower(), root)


def _missing(files: DatasetFiles, folder: Path) -> list[str]:
    return [name for name in files.checksums if not (folder / name).is_file()]


def _roots(data_dir: Path | None) -> Iterator[Path]:
    if data_dir is not None:
        if not data_dir.is_dir():
            raise ResourceError(f"data folder not found: {data_dir.absolute()}")
        yield data_dir
    if os.environ.get(DATA_VARIABLE):
        yield Path(os.environ[DATA_VARIABLE])
    with suppress(ResourceError):
        yield cache_folder()


def _download(files: DatasetFiles, data_dir: Path | None) -> Path:
    folder = cache_folder() / files.folder / "raw"
    try:
        folder.mkdir(parents=True, exist_ok=True)
        _remove_stale(folder)
        for name in _missing(files, folder):
            _download_file(f"{files.url}/{name}", folder / name, files.checksums[name])
    except OSError as error:  # that of pooch's HTTP library is one, too
        raise ResourceError(_instructions(files, folder, data_dir, error)) from None
    return folder


def _download_file(url: str, path: Path, checksum: str) -> None:
    """Download to a temporary file, verify it, then rename it: a broken download never gets the file's name."""
    import pooch

    downloader = pooch.HTTPDownloader(progressbar=_SizeLimit(), chunk_size=CHUNK_BYTES, timeout=TIMEOUT_SECONDS)
    try:
        pooch.retrieve(url, f"sha256:{checksum}", fname=path.name, path=path.parent, downloader=downloader)
    except OSError:
        raise
    except ValueError:
        raise DataError(f"{url}: what was downloaded is not the published file") from None


class _SizeLimit:
    """A progress bar for pooch that shows nothing and stops a download that is too large."""

    total = 0

    def __init__(self) -> None:
        self.received = 0

    def update(self, size: int) -> None:
        self.received += size
        if self.received > MAX_DOWNLOAD_BYTES:
            raise OSError(f"more than {MAX_DOWNLOAD_BYTES} bytes, which no benchmark file has")

    def reset(self) -> None:
        self.received = 0

    def close(self) -> None:
        """Required by pooch."""


def _remove_stale(folder: Path) -> None:
    for file in folder.glob("tmp*"):
        if time.time() - file.stat().st_mtime > STALE_SECONDS:
            file.unlink(missing_ok=True)


def _instructions(files: DatasetFiles, folder: Path, data_dir: Path | None, error: Exception) -> str:
    incomplete = [
        f"\n{place} lacks {', '.join(missing)}"
        for place in _candidates(files, data_dir)
        if (missing := _missing(files, place)) and len(missing) < len(files.checksums)
    ]
    return (
        f"{files.folder}: the files are not on this machine and could not be downloaded ({error}).\n"
        f"Searched {', '.join(str(root) for root in _roots(data_dir))}.{''.join(incomplete)}\n"
        f"Put {', '.join(files.checksums)}\nfrom {files.url}\n"
        f"into {folder}, or into a folder given by --data-dir or the variable {DATA_VARIABLE}"
    )
