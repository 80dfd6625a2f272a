"""Files are found in every customary place, verified, and never left half downloaded."""

from __future__ import annotations

import hashlib
import os
import pwd
import socket
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from threading import Barrier, Thread

import pytest

from confgcn.data import downloads
from confgcn.data.downloads import DatasetFiles, cache_folder, find, find_or_download, verify_files
from confgcn.exceptions import DataError, ResourceError

FILES = {"a.txt": b"alpha", "b.txt": b"beta"}
CHECKSUMS = {name: hashlib.sha256(content).hexdigest() for name, content in FILES.items()}
Answer = Callable[[BaseHTTPRequestHandler], None]
Serve = Callable[[Answer], str]


def files_at(url: str = "http://127.0.0.1:9", checksums: dict[str, str] = CHECKSUMS) -> DatasetFiles:
    return DatasetFiles("Cora", url, checksums)


def put(folder: Path) -> Path:
    folder.mkdir(parents=True)
    for name, content in FILES.items():
        (folder / name).write_bytes(content)
    return folder


def send_published(request: BaseHTTPRequestHandler) -> None:
    content = FILES.get(request.path.removeprefix("/data/"))
    request.send_response(200 if content is not None else 404)
    request.send_header("Content-Length", str(len(content or b"")))
    request.end_headers()
    request.wfile.write(content or b"")


def send_less_than_announced(request: BaseHTTPRequestHandler) -> None:
    request.send_response(200)
    request.send_header("Content-Length", "1000")
    request.end_headers()
    request.wfile.write(b"the first bytes")


def send_no_http(request: BaseHTTPRequestHandler) -> None:
    request.wfile.write(b"220 mail.example ready\r\n")


@pytest.fixture(autouse=True)
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.delenv("CONFGCN_DATA", raising=False)
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    monkeypatch.setenv("no_proxy", "*")
    return tmp_path / "cache" / "confgcn"


@pytest.fixture
def serve() -> Iterator[Serve]:
    servers: list[ThreadingHTTPServer] = []

    def start(answer: Answer) -> str:
        handler = type("Handler", (BaseHTTPRequestHandler,), {"do_GET": answer, "log_message": lambda *_: None})
        server = ThreadingHTTPServer(("127.0.0.1", 0), handler)
        servers.append(server)
        Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01}, daemon=True).start()
        return f"http://127.0.0.1:{server.server_port}/data"

    yield start
    for server in servers:
        server.shutdown()
        server.server_close()


@pytest.fixture
def closed_port() -> str:
    with closing(socket.socket()) as listener:
        listener.bind(("127.0.0.1", 0))
        return f"http://127.0.0.1:{listener.getsockname()[1]}"


def files_in(folder: Path) -> list[str]:
    return sorted(path.name for path in folder.rglob("*") if path.is_file())


@pytest.mark.parametrize("layout", ["Cora/raw", "Cora", "cora", "."], ids=["PyG", "folder", "lower case", "flat"])
def test_every_customary_layout_is_found(tmp_path: Path, layout: str) -> None:
    root = tmp_path / "root"
    folder = put(root / layout)
    assert find(files_at(), root) == folder


def test_a_folder_without_every_file_is_passed_over(tmp_path: Path) -> None:
    (put(tmp_path / "root" / "Cora" / "raw") / "b.txt").unlink()
    assert find(files_at(), tmp_path / "root") is None


def test_the_given_folder_precedes_the_variable_and_the_cache(
    tmp_path: Path, cache: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    in_cache = put(cache / "Cora" / "raw")
    assert find_or_download(files_at(), None) == in_cache
    by_variable = put(tmp_path / "variable")
    monkeypatch.setenv("CONFGCN_DATA", str(by_variable))
    assert find_or_download(files_at(), None) == by_variable
    given = put(tmp_path / "given")
    assert find_or_download(files_at(), given) == given


def test_the_variable_is_used_when_the_given_folder_lacks_the_files(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("CONFGCN_DATA", str(put(tmp_path / "variable")))
    (tmp_path / "given").mkdir()
    assert find(files_at(), tmp_path / "given") == tmp_path / "variable"


def test_an_empty_variable_does_not_mean_the_current_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(put(tmp_path / "here"))
    monkeypatch.setenv("CONFGCN_DATA", "")
    assert find(files_at(), None) is None


def test_the_cache_is_in_the_home_folder_by_default(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("XDG_CACHE_HOME")
    monkeypatch.setenv("HOME", str(tmp_path))
    assert cache_folder() == tmp_path / ".cache" / "confgcn"


def test_without_a_home_only_what_would_be_downloaded_is_missed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def unknown(user: int) -> None:
        raise KeyError(user)

    monkeypatch.delenv("XDG_CACHE_HOME")
    monkeypatch.delenv("HOME")
    monkeypatch.setattr(pwd, "getpwuid", unknown)
    assert find(files_at(), put(tmp_path / "given")) == tmp_path / "given"
    monkeypatch.setenv("CONFGCN_DATA", "")
    assert find(files_at(), None) is None
    with pytest.raises(ResourceError, match=r"no home; set HOME, XDG_CACHE_HOME"):
        find_or_download(files_at(), None)


def test_g01_a_missing_folder_is_named_with_its_absolute_path(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    with pytest.raises(ResourceError) as caught:
        find_or_download(files_at(), Path("absent"))
    assert str(tmp_path / "absent") in str(caught.value)


def test_s18_a_file_with_another_checksum_is_refused(tmp_path: Path) -> None:
    folder = put(tmp_path / "root")
    (folder / "b.txt").write_bytes(b"bela")
    with pytest.raises(DataError, match=CHECKSUMS["b.txt"]) as caught:
        verify_files(folder, CHECKSUMS)
    assert str(folder / "b.txt") in str(caught.value)


def test_a_download_goes_to_the_cache_and_is_found_there_again(cache: Path, serve: Serve, closed_port: str) -> None:
    folder = find_or_download(files_at(serve(send_published)), None)
    assert folder == cache / "Cora" / "raw"
    assert {path.name: path.read_bytes() for path in folder.iterdir()} == FILES
    assert find_or_download(files_at(closed_port), None) == folder


def test_only_missing_files_are_downloaded(cache: Path, serve: Serve) -> None:
    (put(cache / "Cora" / "raw") / "b.txt").unlink()
    asked: list[str] = []

    def answer(request: BaseHTTPRequestHandler) -> None:
        asked.append(request.path)
        send_published(request)

    find_or_download(files_at(serve(answer)), None)
    assert asked == ["/data/b.txt"]


def test_a_download_with_another_checksum_leaves_no_file(cache: Path, serve: Serve) -> None:
    url = serve(send_published)
    with pytest.raises(DataError, match=f"{url}/a.txt"):
        find_or_download(files_at(url, {**CHECKSUMS, "a.txt": "0" * 64}), None)
    assert files_in(cache) == []


@pytest.mark.parametrize("answer", [send_less_than_announced, send_no_http], ids=["cut off", "not http"])
def test_a_broken_download_is_a_missing_resource_and_leaves_no_file(cache: Path, serve: Serve, answer: Answer) -> None:
    with pytest.raises(ResourceError, match=r"a\.txt"):
        find_or_download(files_at(serve(answer)), None)
    assert files_in(cache) == []


def test_a_download_over_the_cap_leaves_no_file(cache: Path, serve: Serve, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(downloads, "MAX_DOWNLOAD_BYTES", 4)
    with pytest.raises(ResourceError, match="more than 4 bytes"):
        find_or_download(files_at(serve(send_published)), None)
    assert files_in(cache) == []


def test_two_downloads_at_once_give_the_same_files(cache: Path, serve: Serve) -> None:
    meet = Barrier(2)

    def answer(request: BaseHTTPRequestHandler) -> None:
        meet.wait(timeout=1200)  # neither download ends before the other has begun
        send_published(request)

    files = files_at(serve(answer))
    with ThreadPoolExecutor(2) as both:
        folders = list(both.map(lambda _: find_or_download(files, None), range(2)))
    assert folders == [cache / "Cora" / "raw"] * 2
    assert {path.name: path.read_bytes() for path in folders[0].iterdir()} == FILES


def test_only_temporary_files_of_killed_downloads_are_removed(cache: Path, serve: Serve) -> None:
    folder = cache / "Cora" / "raw"
    folder.mkdir(parents=True)
    for name, age in (("tmpkilled", downloads.STALE_SECONDS + 60), ("tmprunning", 0)):
        (folder / name).touch()
        os.utime(folder / name, times=(time.time() - age,) * 2)
    find_or_download(files_at(serve(send_published)), None)
    assert files_in(folder) == ["a.txt", "b.txt", "tmprunning"]


def test_a_file_that_is_not_published_is_a_missing_resource(serve: Serve) -> None:
    url = serve(send_published).replace("/data", "/elsewhere")
    with pytest.raises(ResourceError, match="404"):
        find_or_download(files_at(url), None)


def test_the_missing_files_of_an_incomplete_folder_are_named(tmp_path: Path, closed_port: str) -> None:
    folder = put(tmp_path / "root")
    (folder / "b.txt").unlink()
    with pytest.raises(ResourceError, match=r"root lacks b\.txt"):
        find_or_download(files_at(closed_port), folder)


def test_p23_without_network_the_message_says_what_to_put_where(cache: Path, closed_port: str) -> None:
    with pytest.raises(ResourceError) as caught:
        find_or_download(files_at(closed_port), None)
    expected = ["a.txt, b.txt", closed_port, str(cache / "Cora" / "raw"), "--data-dir", "CONFGCN_DATA"]
    assert [word for word in expected if word not in str(caught.value)] == []
