"""The keywords of logins and of the cookies that they leave."""

import resource
import subprocess
import sys
from pathlib import Path

import pytest
from click.testing import CliRunner

from larbinpy import Start
from larbinpy.cli import main
from larbinpy.config import ConfigError
from tests.support.keywords import effect_of
from tests.support.ports import free_port
from tests.support.smallweb import Web
from tests.support.smallworld import Worlds

pytest_plugins = ["tests.support.smallcrawls"]
pytestmark = pytest.mark.slow


@effect_of("loginFile")
def test_the_logins_of_a_file_are_explained(tmp_path: Path) -> None:
    conf, file = tmp_path / "larbin.conf", tmp_path / "logins.toml"
    conf.write_text(f"loginFile {file}\n")
    table = '[[login]]\nsite = "http://a.test"\nmethod = "basic"\nuser = "me"\npassword = '
    file.write_text(table + '"s3cret"\n')
    file.chmod(0o600)
    result = CliRunner().invoke(main, ["check-config", str(conf)])
    assert result.exit_code == 0
    last = result.stdout.splitlines()[-1]
    assert last == "# login at http://a.test: basic, user me, password in the file, no marker"
    file.write_text(table + '"env:UNSET"\nx = 1\n')
    result = CliRunner().invoke(main, ["check-config", str(conf)])
    where = f"larbinpy: {file}: login 1 (http://a.test)"
    assert (result.exit_code, result.stdout) == (2, "")
    assert result.stderr.splitlines() == [
        f"{where}: x: unknown key",
        f"{where}: password: the environment variable 'UNSET' is not set",
    ]


_PROGRAM = """\
import resource, sys
from larbinpy import Config, Crawl

_, hard = resource.getrlimit(resource.RLIMIT_CORE)
resource.setrlimit(resource.RLIMIT_CORE, (hard, hard))
config = Config(
    allow_private=True, retries=0, start_url=(sys.argv[1],), login_file=sys.argv[2] or None
)
Crawl(config).run()
print(resource.getrlimit(resource.RLIMIT_CORE)[0] == hard)
print(*sorted(name for name in sys.modules if name.startswith(("larbinpy.login", "oauthlib"))))
"""


def test_a_crawl_with_logins_leaves_no_core_and_others_load_nothing_for_them(
    tmp_path: Path,
) -> None:
    file = tmp_path / "logins.toml"
    file.write_text('[[login]]\nsite = "http://a.test"\nmethod = "negotiate"\n')
    seed = f"http://127.0.0.1:{free_port()}/"
    _, hard = resource.getrlimit(resource.RLIMIT_CORE)
    for path, keeps in (("", True), (str(file), hard == 0)):
        command = [sys.executable, "-c", _PROGRAM, seed, path]
        folder = tmp_path / f"crawl{bool(path)}"
        folder.mkdir()
        done = subprocess.run(
            command, cwd=folder, capture_output=True, text=True, timeout=60, check=True
        )
        kept, modules = done.stdout.splitlines()
        assert kept == str(keeps), done.stderr
        assert ("larbinpy.login.session" in modules) == bool(path)
        assert bool(path) or modules == ""


@effect_of("saveCookies")
def test_cookies_are_written_for_other_programs(web: Web, crawl: Worlds, tmp_path: Path) -> None:
    cookies = ("session=1; Path=/", "lasting=2; Max-Age=9999; HttpOnly", "brief=3; Max-Age=0")
    web.page("a.test/", "/next", headers=tuple(f"Set-Cookie: {each}" for each in cookies))
    web.pages("a.test/next")
    file = tmp_path / "out.txt"
    first = crawl(f"saveCookies {file}", "limitPage 1")
    assert file.stat().st_mode & 0o777 == 0o600
    lines = file.read_text().splitlines()
    assert lines[0] == "# Netscape HTTP Cookie File"
    fields = sorted(line.split("\t") for line in lines[1:])
    assert [each[:4] + each[5:] for each in fields] == [
        ["#HttpOnly_a.test", "FALSE", "/", "FALSE", "lasting", "2"],
        ["a.test", "FALSE", "/", "FALSE", "session", "1"],
    ]
    assert fields[1][4] == "0"
    # The file of one crawl is for the next one, and is written anew.
    second = crawl(f"cookieFile {file}", f"saveCookies {file}")
    assert {frozenset(str(a.headers["cookie"]).split("; ")) for a in second.asked} == {
        frozenset({"session=1", "lasting=2"})
    }
    assert len(file.read_text().splitlines()) == 3
    crawl(f"saveCookies {file}", folder=first.folder, start=Start.RESUME)
    assert len(file.read_text().splitlines()) == 3


def test_curl_reads_the_cookies(web: Web, crawl: Worlds, tmp_path: Path) -> None:
    file = tmp_path / "out.txt"
    web.page("a.test/", headers=("Set-Cookie: session=1; Path=/",))
    crawl(f"saveCookies {file}")
    try:
        command = ["curl", "-s", "-b", str(file), "-c", "-", "file:///dev/null"]
        kept = subprocess.run(command, capture_output=True, text=True, timeout=60, check=True)
    except FileNotFoundError:
        pytest.skip("curl is not installed")
    assert "a.test\tFALSE\t/\tFALSE\t0\tsession\t1" in kept.stdout


def test_a_file_that_cannot_be_written_is_an_error_at_the_start(
    crawl: Worlds, tmp_path: Path
) -> None:
    for path in (tmp_path, tmp_path / "none" / "cookies.txt"):
        with pytest.raises(ConfigError, match=r"saveCookies: .* cannot be written"):
            crawl(f"saveCookies {path}")
