"""The commands: their help, and the modules that each loads."""

import gzip
import os
import re
import subprocess
import sys
from importlib.metadata import version
from pathlib import Path

import pytest
from click.testing import CliRunner

from larbinpy import __version__
from larbinpy.cli import main
from larbinpy.cli.common import lines, seeds_in
from larbinpy.config import ConfigError
from larbinpy.native import native

COMMANDS = {
    "crawl",
    "seed",
    "console",
    "status",
    "fleet",
    "mirror",
    "login",
    "resolve",
    "fetch",
    "search",
    "show",
    "changes",
    "revisit",
    "index",
    "pack",
    "export",
    "serve",
    "frontier",
    "report",
    "log",
    "explain",
    "check-config",
    "init",
    "demo",
    "man",
    "completion",
}

#: Runs a command, then prints which of the modules in argv[1] are loaded.
_LOADED = """
import sys
from larbinpy.cli import main
try:
    main(sys.argv[2:])
finally:
    print(*sorted(set(sys.argv[1].split(",")) & sys.modules.keys()))
"""


def loaded(*arguments: str, of: str) -> set[str]:
    command = [sys.executable, "-c", _LOADED, of, *arguments]
    done = subprocess.run(command, capture_output=True, text=True, check=True, timeout=30)
    return set(done.stdout.splitlines()[-1].split())


def test_help_lists_every_command() -> None:
    shown = CliRunner().invoke(main, ["--help"])
    assert shown.exit_code == 0
    rows = [line.split(maxsplit=1) for line in shown.output.partition("Commands:")[2].splitlines()]
    helps = dict(row for row in rows if row)
    assert helps.keys() == COMMANDS
    assert all(text.endswith(".") for text in helps.values())


@pytest.mark.parametrize("command", sorted(COMMANDS))
def test_each_command_has_its_help(command: str) -> None:
    shown = CliRunner().invoke(main, [command, "--help"])
    assert shown.exit_code == 0
    assert f"Usage: main {command}" in shown.output


def test_version_names_the_libraries() -> None:
    lines = CliRunner().invoke(main, ["--version"]).output.splitlines()
    assert lines[0] == f"larbinpy, version {__version__}"
    assert lines[1].startswith("Python 3.")
    assert re.match(r"libcurl \d+\.\d+\.\d+ with .*nghttp2 \d", lines[2])
    text = "\n".join(lines)
    for package in ("turbohtml", "lxml", "ada-url", "dnspython", "warcio"):
        assert f"{package} {version(package)}" in text
    assert re.search(r"with libxml2 \d+\.\d+\.\d+, ", text)
    assert f"link scan {'compiled' if native else 'not compiled'}" in text


@pytest.mark.parametrize(
    ("arguments", "reason", "hint"),
    [
        (["crwal"], "No such command 'crwal'. Did you mean 'crawl'?", "main"),
        (["http://a.test/"], "Did you mean 'crawl http://a.test/'?", "main"),
        (["a.test"], "Did you mean 'crawl a.test'?", "main"),
        (["zzz"], "No such command 'zzz'.", "main"),
        (["--zzz"], "No such option", "main"),
        (["crawl", "--nodes", "0"], "Invalid value for '--nodes': 0 is not in", "main crawl"),
        # click puts each word on a line of its own.
        (["completion"], "Choose from: bash, zsh, fish.", "main completion"),
        (["man", "a\x1b[31m"], "Invalid value for '[PAGE]': ", "main man"),
        (["status", "more"], "unexpected extra argument (more).", "main status"),
    ],
)
def test_a_usage_error_is_one_line(arguments: list[str], reason: str, hint: str) -> None:
    shown = CliRunner().invoke(main, arguments)
    assert shown.exit_code == 2
    assert re.fullmatch(r"larbinpy: [ -~]+\n", shown.output), shown.output
    assert reason in shown.output
    assert shown.output.endswith(f" Try '{hint} --help'.\n")


def test_the_help_is_shown_without_a_command() -> None:
    shown = CliRunner().invoke(main, [])
    assert "Commands:" in shown.output
    assert "larbinpy: " not in shown.output


def test_a_command_loads_only_the_modules_it_needs() -> None:
    """`resolve` loads neither the crawler nor, without a terminal, the progress bar.

    `fetch` needs libcurl, but no crawler.
    """
    heavy = "pycurl,turbohtml,lxml,h11,tqdm,dns.message,larbinpy.crawl.engine,larbinpy.frontier"
    assert loaded("resolve", "--server", "127.0.0.1", os.devnull, of=heavy) == set()
    fetch = subprocess.run(
        [sys.executable, "-c", "import larbinpy.crawl.single, sys; print(*sys.modules)"],
        capture_output=True,
        text=True,
        check=True,
        timeout=30,
    ).stdout.split()
    assert "pycurl" in fetch
    assert not {"larbinpy.crawl.engine", "larbinpy.frontier.frontier"} & {*fetch}


@pytest.mark.parametrize(
    ("libraries", "commands"),
    [
        (
            "lxml,opencc,pycurl,sqlite3,turbohtml,warcio,zstandard",
            "check-config completion console fleet frontier log login report seed status",
        ),
        ("lxml,pycurl,sqlite3,turbohtml,warcio", "changes explain export search serve show"),
        ("opencc,sqlite3,warcio,zstandard", "crawl fetch"),
        ("opencc,warcio,zstandard", "mirror"),
        ("pycurl", "index"),
    ],
)
def test_a_command_loads_only_the_libraries_it_needs(libraries: str, commands: str) -> None:
    for command in commands.split():
        assert loaded(command, "--help", of=libraries) == set(), command


def test_a_crawl_loads_the_modules_of_mirrors_and_checks_only_for_them(tmp_path: Path) -> None:
    heavy = "larbinpy.crawl.link_check,larbinpy.observe.report.formats,larbinpy.output.mirror"
    command = [sys.executable, "-c", _LOADED, heavy, "crawl", "--set=outputMode=none"]
    command += [f"--set=stateDir={tmp_path / 'state'}", "http://127.0.0.1:8009/"]
    done = subprocess.run(command, capture_output=True, text=True, timeout=30, cwd=tmp_path)
    assert "127.0.0.1" in (tmp_path / "state" / "crawl.jsonl").read_text(), "it did crawl"
    assert done.stdout.splitlines()[-1] == ""


def test_a_file_of_urls_is_read_lazily(tmp_path: Path) -> None:
    path = tmp_path / "urls.txt"
    path.write_bytes(b"\xef\xbb\xbf# seeds\n http://a.test/ \r\n\n\t\n\xff\n")
    found = lines(str(path))
    assert next(found) == ("http://a.test/", f"{path}:2")
    with path.open("ab") as file:
        file.write(b" # last\nlast#x")
    assert list(found) == [("%FF", f"{path}:5"), ("last#x", f"{path}:7")]
    assert list(lines(None)) == []


@pytest.mark.parametrize("codec", ["utf-8", "utf-8-sig", "utf-16", "utf-16-be"])
@pytest.mark.parametrize("end", ["\n", "\r\n", "\r"])
def test_a_list_of_urls_of_other_programs(tmp_path: Path, codec: str, end: str) -> None:
    path = tmp_path / "urls.txt"
    mark = "\ufeff" if codec == "utf-16-be" else ""
    rows = [
        "a.test/1",
        "",
        "  a.test/2\t# the second",
        "\ufeffa.test/ü#part",
        "#x",
        " # y",
        "a.test/4",
        "a.test/5\tA title\t200",
        '"a.test/6?a,b"',
        "<a.test/7>",
        '"a.test/8',
        "'a.test/9'",
        "\u200b\xa0a.test/10\u200b",
        "http://a.test/11 HTTPS://a.test/12",
        "a.test/13 x",
        "\x1a",
    ]
    path.write_bytes((mark + end.join(rows)).encode(codec))
    assert [text for text, _ in lines(str(path))] == [
        "a.test/1",
        "a.test/2",
        "a.test/ü#part",
        "a.test/4",
        "a.test/5",
        "a.test/6?a,b",
        "a.test/7",
        '"a.test/8',
        "a.test/9",
        "a.test/10",
        "http://a.test/11",
        "HTTPS://a.test/12",
        "a.test/13 x",
    ]


def test_a_list_that_is_packed_is_named(tmp_path: Path) -> None:
    path = tmp_path / "urls.gz"
    path.write_bytes(gzip.compress(b"a.test"))
    with pytest.raises(ConfigError, match="packed by gzip; gunzip it"):
        next(lines(str(path)))


def test_a_locale_without_utf_8_begins_anew_with_it(monkeypatch: pytest.MonkeyPatch) -> None:
    began: list[list[str]] = []
    monkeypatch.setattr(os, "execv", lambda program, arguments: began.append([program, *arguments]))
    monkeypatch.setattr(sys, "orig_argv", ["python", "-m", "larbinpy", "--version"])
    monkeypatch.setattr(sys, "getfilesystemencoding", lambda: "utf-8")
    CliRunner().invoke(main, ["man", "--help"])
    assert began == []
    monkeypatch.setattr(sys, "getfilesystemencoding", lambda: "ascii")
    for before, times in (("0", 1), ("1", 1)):
        monkeypatch.setenv("PYTHONUTF8", before)
        CliRunner().invoke(main, ["man", "--help"])
        assert (os.environ["PYTHONUTF8"], len(began)) == ("1", times), "once only"
    assert began == [[sys.executable, sys.executable, "-m", "larbinpy", "--version"]]


def test_a_line_of_a_file_that_is_no_url_is_named(tmp_path: Path) -> None:
    path = tmp_path / "urls.txt"
    path.write_text("# seeds\n\nhttp://a.test/\nb.test/x\nftp://me:secret@c.test/\n")
    found = seeds_in(str(path))
    assert [next(found), next(found)] == ["http://a.test/", "http://b.test/x"]
    with pytest.raises(ConfigError) as caught:
        next(found)
    assert str(caught.value).startswith(f"{path}:5: 'ftp://***@c.test/' is not a URL")
    assert str(caught.value).endswith("; a list has URLs, and comments behind #")
    state = f"--set=stateDir={tmp_path / 'state'}"
    result = CliRunner().invoke(main, ["crawl", "-i", str(path), state])
    assert (result.exit_code, result.output.count("\n")) == (2, 1)
    assert f"{path}:5: " in result.output
