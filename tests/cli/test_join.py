"""`larbinpy crawl --join`: what is refused, each in one line, before anything is fetched."""

from pathlib import Path
from unittest.mock import patch

import pytest
from click.testing import CliRunner, Result

from larbinpy.cli import main
from larbinpy.storage.state import NOT_RESUMED
from tests.support.redisjoin import address, settings_of
from tests.support.redisserver import RedisServer

pytest_plugins = ["tests.support.ownredis"]


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    # Without it, a line says what is assumed.
    (tmp_path / "larbin.conf").write_text("From t@example.com\n")
    return tmp_path


def crawl(*arguments: str, **variables: str) -> Result:
    options = ("--progress", "none", "--allow-private")
    return CliRunner().invoke(main, ["crawl", *options, *arguments], env=variables)


def refused(result: Result) -> str:
    """The line of a command that ended with status 2."""
    assert result.exit_code == 2, result.output
    [line] = result.output.splitlines()
    assert line.startswith("larbinpy: ")
    return line.removeprefix("larbinpy: ")


SEED = "http://127.0.0.1:8999/"


@pytest.mark.parametrize("nodes", [(), ("--nodes", "2")])
@pytest.mark.parametrize(
    "given",
    [
        ("--join", "redis://:secret@127.0.0.1/news"),
        ("--join", "redis://me:secret@127.0.0.1/news"),
        ("--set", "join=redis://:secret@127.0.0.1/news"),
        ("--set", "join=redis://:sec@ret@127.0.0.1/news?passwordFile=/x"),
    ],
)
def test_a_password_on_the_command_line_is_refused(
    given: tuple[str, str], nodes: tuple[str, ...]
) -> None:
    line = refused(crawl(*given, *nodes, SEED))
    assert "LARBINPY_JOIN" in line
    assert "passwordFile" in line
    assert "secret" not in line


def test_a_user_may_be_named_there(redis: RedisServer) -> None:
    line = refused(crawl("--join", f"redis://me@127.0.0.1:{redis.port}/news", SEED))
    assert "refuses the login (WRONGPASS)" in line


def test_a_wrong_password(redis: RedisServer, folder: Path) -> None:
    redis("CONFIG", "SET", "requirepass", "secret")
    where = f"127.0.0.1:{redis.port}"
    line = refused(crawl("--join", address(redis), SEED))
    assert line == (
        f"Redis {where} asks for a password; give it in LARBINPY_JOIN "
        "(redis://:PASSWORD@HOST/NAME), or name a file with ?passwordFile=PATH"
    )
    wrong = refused(crawl(SEED, LARBINPY_JOIN=f"redis://:wrong@{where}/news"))
    assert wrong == f"Redis {where} refuses the login (WRONGPASS)"
    assert refused(crawl("--nodes", "2", SEED, LARBINPY_JOIN=f"redis://:wrong@{where}/n")) == wrong
    (folder / "password").write_text("secret\n")
    line = refused(crawl("--join", f"{address(redis)}?passwordFile={folder}/password"))
    assert "there is no such crawl" in line


@pytest.mark.parametrize(
    "join",
    ["redis://:sec/ret@127.0.0.1/news", "unix://:ret@/a?crawl=news", "unix:me:ret@/a?crawl=news"],
)
def test_an_address_that_is_none_shows_no_password(join: str) -> None:
    line = refused(crawl(SEED, LARBINPY_JOIN=join))
    assert "ret" not in line.replace("environment", "")
    assert "is not redis://[USER@]HOST[:PORT]/NAME or unix:PATH?crawl=NAME" in line


@pytest.mark.parametrize(
    "arguments",
    [
        ("crawl", "--wait", "redis://:s3cret@h/n"),
        ("crawl", "--set", "waitBy=unix://:s3cret@/r.sock"),
        ("search", "x", "-d", "postgresql://me:s3cret@h/n"),
        ("crawl", "--set", "database=mysql:me:s3cret@h/n"),
        ("report", "redis://:s3cret@h/n"),
        ("check-config", "http://me:s3cret@h/"),
        ("serve", "http://me:s3cret@h/"),
        ("status", "--url", "http://me:s3cret@h:99999/"),
        ("explain", "redis://:s3cret@h/n"),
        ("redis://:s3cret@h/n",),
    ],
)
def test_a_password_in_the_wrong_place_is_not_shown(arguments: tuple[str, ...]) -> None:
    result = CliRunner().invoke(main, arguments)
    assert result.output
    assert "s3cret" not in result.output


@pytest.mark.parametrize("nodes", [(), ("--nodes", "2")])
def test_a_redis_that_is_not_there(nodes: tuple[str, ...]) -> None:
    line = refused(crawl("--join", "redis://127.0.0.1:1/news", *nodes, SEED))
    assert line == "Redis 127.0.0.1:1 does not answer: Connection refused"


@pytest.mark.parametrize("nodes", [(), ("--nodes", "2")])
def test_a_redis_that_would_forget(redis: RedisServer, nodes: tuple[str, ...]) -> None:
    redis("CONFIG", "SET", "maxmemory-policy", "allkeys-lru")
    line = refused(crawl("--join", address(redis), *nodes, SEED))
    assert "set its maxmemory-policy to noeviction (it is allkeys-lru)" in line
    assert settings_of(redis) == {}


def test_a_crawl_that_does_not_exist_is_not_made_without_seeds(redis: RedisServer) -> None:
    where = address(redis)
    line = refused(crawl("--join", where))
    assert line == f"{where}: there is no such crawl; give a URL or startUrl to begin it"
    line = refused(crawl("--join", where, "--resume", SEED))
    assert line == f"{where}: there is no such crawl; --resume needs one"
    line = refused(crawl("--join", where, "--resume", "--nodes", "2", SEED))
    assert line == f"{where}: {NOT_RESUMED}"
    assert settings_of(redis) == {}


@pytest.mark.parametrize("way", [("--join", "redis://127.0.0.1:1/news"), ("--nodes", "2")])
@pytest.mark.parametrize(
    ("options", "why"),
    [
        (("--check-links",), "checkLinks cannot be used with join or --nodes: each node knows"),
        (
            ("--set", "rewriteLinks=on", "--set", "outputMode=mirror"),
            "rewriteLinks cannot be used with join or --nodes: the pages of a mirror that browses",
        ),
    ],
)
def test_what_nodes_cannot_do(options: tuple[str, ...], why: str, way: tuple[str, str]) -> None:
    assert refused(crawl(*way, *options, SEED)).startswith(why)


def test_a_mirror_that_browses_offline_has_no_nodes() -> None:
    arguments = [
        "mirror",
        SEED,
        "there",
        "-c",
        "larbin.conf",
        "--set",
        "join=redis://127.0.0.1:1/n",
    ]
    line = refused(CliRunner().invoke(main, arguments))
    assert line.startswith("rewriteLinks cannot be used with join or --nodes: ")
    variables = {"LARBINPY_JOIN": "redis://127.0.0.1:1/n"}
    line = refused(CliRunner().invoke(main, arguments[:5], env=variables))
    assert line.startswith("rewriteLinks cannot be used with join (LARBINPY_JOIN is set) or")


def test_without_hiredis() -> None:
    with patch("larbinpy.fleet.find_spec", lambda name: None):
        for way in (("--join", "redis://127.0.0.1:1/news"), ("--nodes", "2")):
            line = refused(crawl(*way, SEED))
            assert line.endswith("hiredis, which is not installed: pip install 'larbinpy[fleet]'")


def test_without_the_client_of_the_database(folder: Path) -> None:
    (folder / "larbin.conf").write_text("outputMode database\ndatabase mysql://127.0.0.1:1/x\n")
    with patch("larbinpy.database.base.find_spec", lambda name: None):
        line = refused(crawl("--nodes", "2", SEED))
    assert line.endswith("PyMySQL is not installed; install it: pip install 'larbinpy[mysql]'")
    assert [path.name for path in folder.iterdir()] == ["larbin.conf"]


def test_without_redis_server() -> None:
    with patch("shutil.which", lambda program: None):
        line = refused(crawl("--nodes", "2", SEED))
    assert "redis-server is not installed (apt-get install redis-server)" in line
    assert "--join" in line


def test_a_path_that_is_too_long_for_a_socket() -> None:
    line = refused(crawl("--nodes", "2", "--set", f"stateDir={'x' * 120}", SEED))
    assert line.endswith("no path for a socket; set a shorter stateDir without ?")


def test_seeds_from_standard_input_come_once_only() -> None:
    line = refused(crawl("--nodes", "2", "-i", "-"))
    assert line == "-i - and --nodes cannot be used together: name a file"
