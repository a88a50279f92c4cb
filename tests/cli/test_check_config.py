"""`larbinpy check-config`."""

import subprocess
import sys
from pathlib import Path

import pytest
from click.testing import CliRunner

from larbinpy.cli import main
from tests.support.checkout import ROOT


def test_each_error_is_a_line(tmp_path: Path) -> None:
    conf = tmp_path / "t.conf"
    conf.write_text("retries x\nnonsense\n")
    result = CliRunner().invoke(main, ["check-config", str(conf)])
    assert (result.exit_code, result.stdout) == (2, "")
    assert [line.split(": ")[1] for line in result.stderr.splitlines()] == [
        f"{conf}:1",
        f"{conf}:2",
    ]


def test_the_file_may_be_standard_input() -> None:
    command = [sys.executable, "-m", "larbinpy", "check-config", "-", "--changed"]
    found = subprocess.run(command, input=b"limitPage 7\n", stdout=subprocess.PIPE, check=True)
    assert found.stdout.split()[:2] == [b"limitPage", b"7"]
    wrong = subprocess.run(command[:-1], input=b"\nnonsense\n", stderr=subprocess.PIPE)
    assert (wrong.returncode, b"standard input:2: unknown" in wrong.stderr) == (2, True)


def test_set_and_environment_override_the_file(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    conf = tmp_path / "t.conf"
    conf.write_text("retries 5\n")
    monkeypatch.setenv("LARBINPY_RETRIES", "6")
    result = CliRunner().invoke(main, ["check-config", str(conf), "--set", "limitPage=7"])
    changed = [
        line.split("#")[0].split() for line in result.stdout.splitlines() if "CHANGED" in line
    ]
    assert changed == [["retries", "6"], ["limitPage", "7"]]
    assert result.stderr == "larbinpy: LARBINPY_RETRIES is set in the environment\n"
    command = ["check-config", str(conf), "--set", "limitPage=7", "--changed"]
    lines = CliRunner().invoke(main, command).stdout.splitlines()
    assert [line.split("#")[0].split() for line in lines] == changed


@pytest.mark.parametrize(
    ("agent", "name"),
    [
        (
            "Mozilla/5.0 (compatible; FooBot/2.1; +http://foo.test/bot)",
            "robots.txt calls it foobot",
        ),
        ("Foo Bar", "robots.txt has no name for it, only *"),
    ],
)
def test_the_name_in_robots_txt_is_shown(agent: str, name: str) -> None:
    result = CliRunner().invoke(main, ["check-config", "--set", f"UserAgent={agent}", "--changed"])
    assert result.stdout.splitlines()[0].endswith(name)


def test_without_a_file_it_is_that_of_the_folder_or_the_defaults(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    result = CliRunner().invoke(main, ["check-config"])
    assert result.stderr == "larbinpy: no larbin.conf here, so these are the defaults\n"
    assert "waitDuration 30s" in result.stdout and "CHANGED" not in result.stdout
    (tmp_path / "larbin.conf").write_text("retries 5\n")
    result = CliRunner().invoke(main, ["check-config"])
    assert result.stderr == "larbinpy: reading larbin.conf\n"
    assert "retries 5" in result.stdout


def test_credentials_are_masked(tmp_path: Path) -> None:
    conf = tmp_path / "t.conf"
    conf.write_text(
        "startUrl http://me:secret@a.test/\nproxy socks5://me:secret@p.test 1080\n"
        'header "Authorization: Bearer secret"\nheader "X-Reason: study"\n'
    )
    result = CliRunner().invoke(main, ["check-config", str(conf)])
    assert "secret" not in result.output
    lines = [line.split("  #")[0].rstrip() for line in result.stdout.splitlines()]
    assert "startUrl http://***@a.test/" in lines
    assert "proxy socks5://***@p.test 1080" in lines
    assert 'header "Authorization: ***"' in lines
    assert 'header "X-Reason: study"' in lines
    wrong = [
        "startUrl ftp://me:secret@a.test/",
        "proxy gopher://me:secret@p.test 1",
        "http://me:secret@a.test/",
        'header "Authorization Bearer secret"',
        'header "Authorization Bearer: secret"',
        'header "Authorization: secret\xe9"',
        "startUrl me:secret@docs.test/",
        "startUrl http://me:se/secret@h/",
        "startUrl http://me:p#secret@h/",
        "startUrl http:me:secret@h:99999/",
        "proxy http://me:p/secret@h:9 1",
        "proxy http://me:a://secret@h:9 1",
        "proxy me:secret://@h 1",
    ]
    for line in wrong:
        conf.write_text(line)
        result = CliRunner().invoke(main, ["check-config", str(conf)])
        assert result.exit_code == 2
        assert "secret" not in result.output


def test_the_settings_of_a_crawl_have_their_sources(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("larbin.conf").write_text("limitPage 5\nretries 1\n")
    command = ["crawl", "http://127.0.0.1:8009/", "--wait", "2", "--set", "retries=0"]
    CliRunner().invoke(main, [*command, "--progress", "none"])
    result = CliRunner().invoke(main, ["check-config", "--state", "state", "--changed"])
    found = {line.split()[0]: line.partition("(from ")[2] for line in result.stdout.splitlines()}
    assert found == {
        "waitDuration": "an option of an earlier run)",
        "retries": "an option of an earlier run)",
        "limitPage": "larbin.conf)",
    }
    result = CliRunner().invoke(main, ["check-config", "--state", "nowhere"])
    assert (result.exit_code, result.stderr) == (2, "larbinpy: nowhere: no saved crawl here\n")


def test_init_writes_the_example_and_no_file_twice(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    assert CliRunner().invoke(main, ["init"]).exit_code == 0
    assert Path("larbin.conf").read_text() == (ROOT / "larbin.conf").read_text()
    assert CliRunner().invoke(main, ["check-config"]).exit_code == 0
    again = CliRunner().invoke(main, ["init"])
    assert (again.exit_code, again.stderr.count("\n")) == (2, 1)
    assert CliRunner().invoke(main, ["init", "other.conf"]).exit_code == 0
