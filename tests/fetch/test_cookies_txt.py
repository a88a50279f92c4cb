"""Files of cookies as curl, wget, browsers and their extensions write them."""

import socket
import subprocess
import sys
from collections.abc import Iterator
from contextlib import closing
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path
from threading import Thread

import pycurl
import pytest

from larbinpy.crawl.resumed import cookie_notes
from larbinpy.fetch.cookies import Jar, cookie_lines, write

YEAR_2100 = 4102444800


def line(
    host: str = "a.test", end: str = "0", name: str = "n", value: str = "v", mark: str = ""
) -> str:
    return mark + "\t".join([host, "FALSE", "/", "FALSE", end, name, value])


def in_jar(tmp_path: Path, text: str, encoding: str = "utf-8") -> list[str]:
    """The cookies of a file as libcurl lists them."""
    file = tmp_path / "cookies.txt"
    file.write_bytes(text.encode(encoding))
    with closing(Jar(10**6, str(file))) as jar:
        return [each.decode() for each in jar.lines()]


@pytest.mark.parametrize(
    "text",
    [
        f"# Netscape HTTP Cookie File\n# https://curl.se/docs/http-cookies.html\n\n{line()}\n",
        f"# HTTP Cookie File for Wget\n{line()}\n",
        f"# Netscape HTTP Cookie File\r\n\r\n{line()}\r\n",
        f"\ufeff{line()}",
        f"\ufeff# a comment\r\n{line()}",
        line(host=".a.test").replace("FALSE", "TRUE", 1).replace("TRUE", "FALSE", 1),
        line(end="-1"),
        line(end="0.0"),
        line(end=""),
        line().replace("FALSE", "false"),
    ],
)
def test_cookies_of_a_session(tmp_path: Path, text: str) -> None:
    assert in_jar(tmp_path, text) == [line()]


@pytest.mark.parametrize(
    ("end", "taken"),
    [
        (str(YEAR_2100), YEAR_2100),
        (f"{YEAR_2100}.528561", YEAR_2100 + 1),
        ("4.1024448e9", YEAR_2100),
        ("9" * 30, 1 << 53),
        ("13370000000000000", 1 << 53),
    ],
)
def test_ends_of_cookies(tmp_path: Path, end: str, taken: int) -> None:
    [cookie] = in_jar(tmp_path, line(end=end))
    assert cookie == line(end=str(taken))


def test_cookies_that_scripts_may_not_read(tmp_path: Path) -> None:
    marked = line(mark="#HttpOnly_")
    assert in_jar(tmp_path, f"\ufeff{marked}\r\n") == [marked]


def test_values(tmp_path: Path) -> None:
    for value in ("", "a=b; c", '"quoted"', "caf\u00e9", "a b"):
        assert in_jar(tmp_path, line(value=value)) == [line(value=value)]
    # Extensions leave the tab before an empty value out.
    assert in_jar(tmp_path, line(value="").rstrip("\t")) == [line(value="")]


def test_a_cookie_with_a_tab_is_left_out_and_noted(tmp_path: Path) -> None:
    text = line(value="a\tb") + "\n" + line(name="other")
    assert in_jar(tmp_path, text) == [line(name="other")]
    path = str(tmp_path / "cookies.txt")
    assert cookie_notes(path, ["a.test"], 0) == [
        f"{path}: left out: 1 cookie with a tab in the value"
    ]


@pytest.fixture
def server() -> Iterator[tuple[str, list[str]]]:
    """The URL of a server on the IPv6 loopback address, and the cookies that it got."""
    got: list[str] = []

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            got.append(self.headers.get("Cookie", ""))
            self.send_response(200)
            self.end_headers()

        def log_message(self, *arguments: object) -> None:
            pass

    class Server(HTTPServer):
        address_family = socket.AF_INET6

    try:
        server = Server(("::1", 0), Handler)
    except OSError:
        pytest.skip("no IPv6")
    with server:
        Thread(target=server.serve_forever, daemon=True).start()
        yield f"http://[::1]:{server.server_port}/", got
        server.shutdown()


@pytest.mark.parametrize("host", ["::1", "[::1]"])
def test_an_ipv6_address(tmp_path: Path, server: tuple[str, list[str]], host: str) -> None:
    url, got = server
    file = tmp_path / "cookies.txt"
    file.write_text(line(host=host))
    with closing(Jar(10**6, str(file))) as jar, closing(pycurl.Curl()) as curl:
        jar.hand(curl)
        curl.setopt(pycurl.COOKIEFILE, "")
        curl.setopt(pycurl.URL, url)
        curl.setopt(pycurl.WRITEFUNCTION, lambda data: None)
        curl.perform()
    assert got == ["n=v"]


def test_what_is_written_can_be_read(tmp_path: Path) -> None:
    path = tmp_path / "cookies.txt"
    lines = [line(mark="#HttpOnly_"), line(host="::1", end=str(YEAR_2100))]
    path.write_text("old")
    path.chmod(0o644)
    write(str(path), [each.encode() for each in lines])
    assert path.stat().st_mode & 0o777 == 0o600
    assert cookie_lines(str(path)) == [each.encode() for each in lines]
    program = (
        "import sys, http.cookiejar\n"
        "jar = http.cookiejar.MozillaCookieJar(sys.argv[1])\n"
        "jar.load(ignore_discard=True, ignore_expires=True)\n"
        "print(len(jar))"
    )
    command = [sys.executable, "-c", program, str(path)]
    loaded = subprocess.run(command, capture_output=True, text=True, timeout=60, check=True)
    assert loaded.stdout == "2\n"


def test_the_cookies_of_the_file_are_known_whoever_sets_them(tmp_path: Path) -> None:
    file = tmp_path / "cookies.txt"
    file.write_text("a.test\tFALSE\t/\tFALSE\t0\tsession\tgiven\n")
    with closing(Jar(10**6, str(file))) as jar:
        again = b"a.test\tFALSE\t/\tFALSE\t0\tsession\tanew"
        own = b"a.test\tFALSE\t/\tFALSE\t0\tconsent\tyes"
        jar.add([again, own], over_given=True)
        assert sorted(jar.lines()) == [own, again]
        assert jar.set_by_sites() == [own]
