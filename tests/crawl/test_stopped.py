"""`explain` and `log` beside a crawl: stopped, running, and with a log that is rotated."""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

import pytest

from larbinpy.console.terminal.client import follow_log
from tests.support.crawling import Web, World, html, missing, moved, one_line
from tests.support.webserver import Act

pytest_plugins = ["tests.support.crawlworld"]


def contents(folder: Path) -> dict[str, tuple[bytes, int]]:
    """Every file with its time of change."""
    files = (path for path in folder.rglob("*") if path.is_file())
    return {str(path): (path.read_bytes(), path.stat().st_mtime_ns) for path in files}


class Stopped(NamedTuple):
    """A crawl that ended by limitPage, with URLs left."""

    world: World
    web: Web

    def explain(self, path: str, *arguments: str, host: str = "site.test") -> dict[str, Any]:
        crawler = self.world.larbinpy("explain", self.web.url(path, host), "--json", *arguments)
        assert crawler.err == ""
        answer: dict[str, Any] = json.loads(crawler.out)
        return answer


@pytest.fixture
def stopped(world: World) -> Stopped:
    def answer(asked: Any) -> Any:
        if asked.path == "/":
            yield html("/gone", "/moved", "/docs.zip", *(f"/{n}" for n in range(30)))
        elif asked.path in ("/robots.txt", "/gone"):
            yield missing()
        elif asked.path == "/moved":
            yield moved("/0")
        else:
            yield html("/")

    web = world.web(answer, "site.test")
    lines = ("forbiddenExtensions .zip end", "noExternalLinks", "limitPage 4")
    world.conf(*lines, f"startUrl {web.url()}")
    assert world.run().process.returncode == 0
    return Stopped(world, web)


@pytest.mark.parametrize("near", ["off", "mark", "skip"])
def test_explain_says_of_which_page_another_one_is_a_copy(world: World, near: str) -> None:
    words = [f"word{number}" for number in range(100)]

    def answer(asked: Any) -> Any:
        if asked.path == "/robots.txt":
            yield missing()
        else:
            text = words[:-1] if asked.path == "/near" else words
            yield html("/near", "/same", text=" ".join(text))

    web = world.web(answer, "site.test")
    world.conf("outputMode database", f"startUrl {web.url()}", f"nearDuplicates {near}")
    assert world.run().process.returncode == 0

    def told(path: str) -> str | None:
        answer: dict[str, str] = json.loads(world.larbinpy("explain", web.url(path), "--json").out)
        return answer.get("database")

    assert told("/") is None
    assert told("/same") == f"a copy of {web.url()}, not found by searches"
    assert (
        told("/near")
        == {
            "off": None,
            "mark": f"nearly a copy of {web.url()}, found beside it",
            "skip": f"nearly a copy of {web.url()}, not found by searches",
        }[near]
    )


def test_explain_answers_about_a_stopped_crawl(stopped: Stopped) -> None:
    before = contents(stopped.world.state)
    answers = {path: stopped.explain(path) for path in ("/", "/gone", "/moved", "/29", "/docs.zip")}
    assert contents(stopped.world.state) == before
    assert {path: (each["state"], each["seen"]) for path, each in answers.items()} == {
        "/": ("decided", True),
        "/gone": ("decided", True),
        "/moved": ("decided", True),
        "/29": ("queued", True),
        "/docs.zip": ("refused", False),
    }
    assert answers["/gone"]["fate"]["status"] == 404
    assert f"to {stopped.web.url('/0')}" in answers["/moved"]["why"]
    assert answers["/docs.zip"]["rule"] == "forbiddenExtensions"
    unknown = stopped.explain("/unknown")
    assert (unknown["state"], unknown["seen"]) == ("never seen", False)


def test_explain_knows_the_options_that_a_stopped_crawl_had(stopped: Stopped) -> None:
    world = stopped.world
    rules = world.folder / "rules.conf"
    rules.write_text(f"{(world.folder / 'larbin.conf').read_text()}reject **.pdf\n")
    assert stopped.explain("/a.pdf")["state"] == "never seen"
    world.finish(world.crawl("--resume", "-c", "rules.conf", "--set", "reject=**.mp3"))
    for path, rule in (("/a.pdf", "reject **.pdf"), ("/a.mp3", "reject **.mp3")):
        assert stopped.explain(path)["rule"] == rule
    assert stopped.explain("/a.png", "--set", "reject=**.png")["rule"] == "reject **.png"
    rules.unlink()
    assert stopped.explain("/a.pdf")["state"] == "never seen"


def test_explain_names_the_hours_of_a_stopped_crawl(stopped: Stopped) -> None:
    hours = stopped.explain("/29", "-c", "larbin.conf", "--set", "hours=22:00-06:00")
    assert hours["why"].endswith("its site is asked between 22:00 and 06:00 only (hours)")
    assert "hours" not in stopped.explain("/", "--set", "hours=22:00-06:00")["why"]


def test_explain_uses_the_words_of_the_console(stopped: Stopped) -> None:
    """Asked in both ways about the same crawl: while it waits for a page, and once it is killed."""
    world, web = stopped
    other = world.web(lambda asked: [Act.HANG], "slow.test")
    lines = ("forbiddenExtensions .zip end", "noExternalLinks", "timeoutPage 60")
    world.conf(*lines, f"startUrl {other.url()}")
    crawler = world.crawl("--resume")
    world.until(lambda: len(world.fates) == 33 and other.accepted > 0)
    paths = ("/", "/gone", "/docs.zip", "/unknown")
    running = {path: stopped.explain(path) for path in paths}
    assert not crawler.ended
    crawler.process.kill()
    world.finish(crawler)
    for path in paths:
        answer, before = stopped.explain(path), running[path]
        assert {key: answer[key] for key in ("url", "seen", "state", "why")} == {
            key: before[key] for key in ("url", "seen", "state", "why")
        }
    text = world.larbinpy("explain", web.url("/gone"), "state").out.splitlines()
    assert text[0] == web.url("/gone")
    assert text[1].startswith("decided: the server refused it or lacks it")


def test_explain_before_the_first_crawl(world: World) -> None:
    """Rules can be tried: the configuration alone answers, and no file is made."""
    world.conf(
        "startUrl http://a.test/docs/index.html",
        "stay prefix",
        "reject **/old/**",
        "accept **.pdf",
        "forbiddenExtensions .zip end",
        "getImage",
        'specificSearch specificSet "application/pdf" .pdf end end',
    )

    def explain(url: str) -> dict[str, Any]:
        crawler = world.larbinpy("explain", url, "--json")
        assert crawler.err == ""
        answer: dict[str, Any] = json.loads(crawler.out)
        return answer

    seed, page = explain("http://a.test/docs/index.html"), explain("http://a.test/docs/x.html")
    assert (seed["state"], page["state"], page["seen"]) == ("wanted", "wanted", False)
    assert "it is a seed" in seed["why"]
    assert page["why"] == (
        "no crawl in state yet; a link to it would be queued; its type has to be one of: "
        "pages, images (getImage), application/pdf (specificSet)"
    )
    assert explain("http://b.test/x.pdf")["rule"] == "accept **.pdf"
    refused = {url: explain(f"http://a.test/{url}") for url in ("docs/old/", "docs/a.zip", "blog/")}
    assert {url: (each["state"], each["rule"]) for url, each in refused.items()} == {
        "docs/old/": ("refused", "reject **/old/**"),
        "docs/a.zip": ("refused", "forbiddenExtensions"),
        "blog/": ("refused", "stay"),
    }
    assert not world.state.exists()
    text = world.larbinpy("explain", "http://a.test/docs/old/").out
    assert "refused: rejected by: reject **/old/** (" in text


def test_explain_asks_a_crawl_that_runs_or_says_why_it_cannot_answer(stopped: Stopped) -> None:
    world, web = stopped
    assert one_line(world.larbinpy("explain", "a.test", "nowhere")) == (
        "larbinpy: nowhere: no saved crawl here\n"
    )
    held = True

    def slow(asked: Any) -> Any:
        while held:
            yield 0.05
        yield html()

    other = world.web(slow, "slow.test")
    world.conf(f"startUrl {other.url()}", "stateDir other")
    crawler = world.crawl()
    world.until(lambda: other.accepted > 0)
    assert world.larbinpy("explain", web.url(), "other").out.startswith(web.url())
    held = False
    world.finish(crawler)


def test_the_log_is_shown_by_outcome_and_by_site(stopped: Stopped) -> None:
    world, web = stopped
    lines = world.larbinpy("log").out.splitlines()
    fates = world.fates
    assert len(lines) == len(fates)
    for line, fate in zip(lines, fates, strict=True):
        assert line.startswith(fate["ts"][:19].replace("T", " "))
        assert f" {fate['outcome']} " in line
        assert f"  {fate['url']}" in line
    [moved_line] = world.larbinpy("log", "--outcome", "err30X").out.splitlines()
    assert moved_line.endswith(f"{web.url('/moved')}  to {web.url('/0')}")
    failed = world.larbinpy("log", "state", "--outcome", "ERR").out.splitlines()
    assert len(failed) == 2
    assert world.larbinpy("log", "--site", "other.test").out == ""
    assert len(world.larbinpy("log", "--site", "test").out.splitlines()) == len(fates)
    [raw] = world.larbinpy("log", "--outcome", "err40X", "--json").out.splitlines()
    assert json.loads(raw) == next(fate for fate in fates if fate["outcome"] == "err40X")


def test_the_log_has_its_rotated_files(stopped: Stopped) -> None:
    path = stopped.world.state / "crawl.jsonl"
    path.rename(path.with_name("crawl.jsonl.1"))
    lines = len(stopped.world.larbinpy("log").out.splitlines())
    assert lines == path.with_name("crawl.jsonl.1").read_bytes().count(b"\n") > 4


def test_lines_of_an_earlier_crawl_are_not_shown(stopped: Stopped) -> None:
    """--scratch leaves rotated files of the crawl that it discards."""
    world, _ = stopped
    path = world.state / "crawl.jsonl"
    old = path.read_text().replace('{"ts": "2', '{"ts": "1').replace("/moved", "/29")
    path.with_name("crawl.jsonl.1").write_text(old)
    shown = world.larbinpy("log").out
    assert shown.count("\n") == len(world.fates)
    assert "/29" not in shown
    assert stopped.explain("/29")["state"] == "queued"
    # A URL that was seen, and whose line was lost.
    path.write_text("".join(ln for ln in path.read_text().splitlines(True) if "/gone" not in ln))
    assert stopped.explain("/gone")["state"] == "seen"


def test_a_wrong_filter_is_an_error(world: World) -> None:
    (world.folder / "crawl.jsonl").touch()
    said = one_line(world.larbinpy("log", ".", "--outcome", "broken"))
    assert "no outcome begins with 'broken': success, " in said
    said = one_line(world.larbinpy("log", ".", "--site", "a b"))
    assert "'a b' is not a host pattern" in said
    assert "no crawl log here" in one_line(world.larbinpy("log", "nowhere"))


def test_following_a_log_survives_rotation(tmp_path: Path) -> None:
    """Each pause is a step of the script; what it appends is read next."""
    path = tmp_path / "crawl.jsonl"

    def script() -> Iterator[None]:
        yield
        path.write_text("".join(f"{n}\n" for n in range(20)))
        yield
        with path.open("a") as file:
            file.write("a\nhal")
        yield
        with path.open("a") as file:
            file.write("f\n")
        path.rename(tmp_path / "crawl.jsonl.1")
        with (tmp_path / "crawl.jsonl.1").open("a") as file:
            file.write("last\n")
        yield
        path.write_text("new\n")
        yield
        path.write_text("")
        path.write_text("x\n")
        yield
        raise KeyboardInterrupt

    steps = script()
    next(steps)
    lines: list[bytes] = []
    with pytest.raises(KeyboardInterrupt):
        lines.extend(follow_log([path], lambda seconds: next(steps)))
    shown = [*(str(n) for n in range(10, 20)), "a", "half", "last", "new", "x"]
    assert [line.decode().strip() for line in lines] == shown


def test_several_logs_are_followed_by_time(tmp_path: Path) -> None:
    paths = [tmp_path / "1", tmp_path / "2"]

    def script() -> Iterator[None]:
        paths[0].write_text("a\nc\n")
        paths[1].write_text("b\nd\n")
        yield
        paths[1].write_text("b\nd\ne\n")
        yield
        raise KeyboardInterrupt

    steps = script()
    lines: list[bytes] = []
    with pytest.raises(KeyboardInterrupt):
        lines.extend(follow_log(paths, lambda seconds: next(steps)))
    assert b"".join(lines) == b"a\nb\nc\nd\ne\n"


def test_a_running_crawl_is_followed(world: World) -> None:
    def answer(asked: Any) -> Any:
        if asked.path == "/robots.txt":
            yield missing()
        elif asked.path == "/hold":
            while not released:
                yield 0.05
            yield html()
        else:
            yield html("/hold")

    released: list[bool] = []
    web = world.web(answer, "site.test")
    world.conf(f"startUrl {web.url()}")
    crawler = world.crawl()
    world.until(lambda: len(world.fates) == 1)
    follower = world.start("log", "--follow", "--outcome", "success")
    world.until(lambda: follower.out.count("\n") == 1)
    assert web.url() in follower.out
    (world.state / "crawl.jsonl").rename(world.state / "crawl.jsonl.1")
    crawler.signal(1)
    world.until(lambda: (world.state / "crawl.jsonl").exists())
    released.append(True)
    assert world.finish(crawler) == 0
    world.until(lambda: follower.out.count("\n") == 2)
    assert web.url("/hold") in follower.out
    follower.signal(2)
    assert world.finish(follower) == 130
