"""Site blocks in a file, on the command line and in the environment, and their errors."""

from pathlib import Path

import pytest

from larbinpy.config import Config, ConfigError, check, load, texts
from larbinpy.config.grammar import SiteBlock


@pytest.fixture(autouse=True)
def empty_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A working directory without larbin.conf."""
    monkeypatch.chdir(tmp_path)


def parse(text: str, *overrides: str, **environ: str) -> Config:
    Path("t.conf").write_text(text)
    return load("t.conf", environ, [("site", text) for text in overrides])


def shown(config: Config) -> list[str]:
    return [block.show() for block in config.site_blocks]


def errors(text: str) -> list[str]:
    Path("t.conf").write_text(text)
    return [str(error) for error in check("t.conf", {}, [])]


def place(block: SiteBlock, attribute: str) -> str:
    value = block.get(attribute)
    assert value is not None
    return value.source


def test_a_block_holds_settings_up_to_its_end_and_knows_their_lines() -> None:
    config = parse(
        "retries 7\nsite Docs.test\n  waitDuration 1m RETRIES 0\n\n  ignoreRobots\nend\n"
        'getCGI\nsite *.b.test:8080 ignoreRobots off UserAgent "my bot" end'
    )
    assert (config.retries, config.get_cgi) == (7, True)
    assert shown(config) == [
        "docs.test waitDuration 1m retries 0 ignoreRobots on end",
        '*.b.test:8080 ignoreRobots off UserAgent "my bot" end',
    ]
    block = config.site_blocks[0]
    assert block.source == "t.conf:2"
    assert (place(block, "retries"), place(block, "ignore_robots")) == ("t.conf:3", "t.conf:5")
    assert block.get("wait_by") is None


def test_a_keyword_given_twice_in_a_block_has_the_last_value_and_its_line() -> None:
    [block] = parse("site a.test\nretries 1\nretries 2\nend").site_blocks
    assert block.show() == "a.test retries 2 end"
    assert place(block, "retries") == "t.conf:3"


def test_blocks_of_stronger_sources_come_first() -> None:
    config = parse(
        "site a.test retries 1 end",
        "a.test retries 3",
        "b.test retries 4 end c.test retries 5 end",
        LARBINPY_SITE="a.test retries 2",
    )
    assert [(block.source, block.show()) for block in config.site_blocks] == [
        ("command line", "a.test retries 3 end"),
        ("command line", "b.test retries 4 end"),
        ("command line", "c.test retries 5 end"),
        ("environment LARBINPY_SITE", "a.test retries 2 end"),
        ("t.conf:1", "a.test retries 1 end"),
    ]


def test_the_text_of_blocks_gives_the_same_blocks() -> None:
    config = parse("site a.test retries 1 end site *.b.test hours 22:00-06:00 From x end")
    assert load(None, {}, [("site", texts(config)["site"])]) == config


def test_an_empty_value_on_the_command_line_drops_the_blocks() -> None:
    assert parse("site a.test retries 1 end", "").site_blocks == ()


def test_each_error_of_a_block_is_reported_with_its_line() -> None:
    assert errors(
        "site docs.test\n waitDurations 1\n startUrl http://a.test/\n retries x\n"
        " hours 22:00-06:00 12:00-13:00\nend\nsite b/x\n retries 3\nend\n"
    ) == [
        "t.conf:2: unknown keyword 'waitDurations'; the nearest known one is waitDuration",
        "t.conf:3: startUrl cannot be set by site; close the block of line 1 with 'end' before it",
        "t.conf:4: retries: 'x' is not a whole number of 0 or more",
        "t.conf:5: unknown keyword '12:00-13:00'; larbinpy check-config has all; put a value with "
        "blanks in double quotes",
        "t.conf:7: site: 'b/x' is not a host pattern such as docs.test, *.docs.test or "
        "w*.test:8080",
    ]


def test_an_end_that_is_missing_is_reported_at_the_line_of_the_site() -> None:
    usage = "expected site PATTERN KEYWORD VALUE... end"
    assert errors("getCGI\nsite c\n retries 3\nsite d\n waitDuration\nend\nsite e\n") == [
        f"t.conf:2: site: the block is not closed before the block in line 4; {usage}",
        "t.conf:5: waitDuration: its value is missing before end in line 6; expected "
        "waitDuration SECONDS",
        f"t.conf:7: site: the block is not closed before the end of the file; {usage}",
    ]
    assert errors("site\nend\n")[0] == (
        f"t.conf:1: site: its value is missing before end in line 2; {usage}"
    )


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("docs.test waitDuratio 1", "unknown keyword 'waitDuratio'; the nearest known one is"),
        ("docs.test retries", "retries: 'end' is not a whole number"),
        ("docs.test/ retries 1", "site: 'docs.test/' is not a host pattern"),
        ("docs.test startUrl http://a/", "startUrl cannot be set by site"),
    ],
)
def test_an_error_on_the_command_line_names_it(text: str, reason: str) -> None:
    with pytest.raises(ConfigError) as caught:
        parse("", text)
    assert str(caught.value).startswith("command line: " + reason)
