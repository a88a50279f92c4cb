"""README and docs/: links, examples, commands and tables agree with the program."""

import re
from collections.abc import Iterator
from pathlib import Path

import click
import configuration_docs
import pytest

from larbinpy import demo
from larbinpy.cli import main
from larbinpy.config import SETTINGS, Config, load
from larbinpy.database.writer import Writer
from larbinpy.errors import MEANINGS
from larbinpy.frontier.site import TRANSITIONS, Event, State
from larbinpy.page import Outcome

pytestmark = pytest.mark.slow

ROOT = next(folder for folder in Path(__file__).parents if (folder / "setup.cfg").exists())
README = ROOT / "README.md"
PAGES = [README, ROOT / "CHANGELOG.md", *sorted((ROOT / "docs").glob("*.md"))]

_FENCED = re.compile(r"^```(\w*)\n(.*?)^```$", re.MULTILINE | re.DOTALL)
_LINK = re.compile(r"\[[^\]]*\]\(([^)\s]+)\)")


def prose(page: Path) -> str:
    """The text of a page without its code."""
    text = _FENCED.sub("", page.read_text())
    return re.sub(r"^    .*$|`[^`\n]*`", "", text, flags=re.MULTILINE)


def anchors(page: Path) -> set[str]:
    """The anchors that GitHub gives to the headings of a page."""
    text = _FENCED.sub("", page.read_text())
    headings = re.findall(r"^#+ (.+)$", text, re.MULTILINE)
    kept = (re.sub(r"[^\w\- ]", "", heading.lower()) for heading in headings)
    return {heading.replace(" ", "-") for heading in kept}


def links() -> Iterator[tuple[Path, str]]:
    for page in PAGES:
        for target in _LINK.findall(prose(page)):
            if "://" not in target:
                yield page, target


def blocks() -> Iterator[str]:
    """The indented blocks of all pages: files and commands."""
    for page in PAGES:
        for block in re.findall(r"(?:^    .*\n)+", _FENCED.sub("", page.read_text()), re.MULTILINE):
            yield re.sub(r"^    ", "", block, flags=re.MULTILINE)


def commands() -> Iterator[tuple[str, list[str]]]:
    """The larbinpy commands in all pages, each with its options."""
    texts = [line for block in blocks() for line in block.splitlines()]
    texts += [code for page in PAGES for code in re.findall(r"`([^`\n]+)`", page.read_text())]
    for text in texts:
        found = re.search(r"\blarbinpy ([a-z][a-z-]*)(.*)", text.partition("#")[0])
        if found:
            yield found[1], re.findall(r" (--?[a-z][a-z-]*)", re.sub("'[^']*'", "", found[2]))


def programs() -> Iterator[object]:
    for page in PAGES:
        examples = (code for name, code in _FENCED.findall(page.read_text()) if name == "python")
        for number, code in enumerate(examples):
            yield pytest.param(code, id=f"{page.stem}-{number}")


def test_the_readme_is_short_and_names_the_two_commands() -> None:
    text = README.read_text()
    assert len(text.splitlines()) <= 200
    assert "    scripts/larbinpy demo\n" in text
    assert "    scripts/test\n" in text


def test_the_readme_links_to_every_page() -> None:
    found = {target.partition("#")[0] for page, target in links() if page == README}
    assert {f"docs/{page.name}" for page in PAGES if page.parent != ROOT} <= found


def test_links_and_anchors_exist() -> None:
    assert len(list(links())) > 50
    for page, target in links():
        path, _, anchor = target.partition("#")
        file = page.parent / path if path else page
        assert file.exists(), f"{page.name}: {target}"
        assert not anchor or anchor in anchors(file), f"{page.name}: {target}"


def test_every_page_begins_with_its_purpose_and_lists_its_sections() -> None:
    for page in PAGES:
        if page.parent != ROOT:
            title, purpose, *_ = page.read_text().split("\n\n")
            assert title.startswith("# ") and purpose.startswith("After reading this page you can ")
            sections = re.findall(r"^## (.+)$", _FENCED.sub("", page.read_text()), re.MULTILINE)
            listed = re.findall(r"^- \[(.+)\]\(#", page.read_text(), re.MULTILINE)
            assert listed == sections, page.name


def test_pictures_are_shown() -> None:
    shown = {(page.parent / target).resolve() for page, target in links()}
    pictures = set((ROOT / "docs" / "pictures").iterdir())
    assert pictures <= shown


def test_the_commands_and_their_options_exist() -> None:
    context = click.Context(main)
    assert {"crawl", "mirror", "console", "resolve"} <= {name for name, _ in commands()}
    for name, options in commands():
        command = main.get_command(context, name)
        assert command is not None, name
        known = {option for parameter in command.params for option in parameter.opts}
        assert set(options) <= known, name


def test_the_scripts_exist() -> None:
    shown = {
        name for page in PAGES for name in re.findall(r"\bscripts/[\w/.-]+\w", page.read_text())
    }
    assert len(shown) > 10
    assert {name for name in shown if not (ROOT / name).is_file()} == set()


def test_the_modules_exist() -> None:
    package = ROOT / "larbinpy"
    folders = "|".join(path.name for path in package.iterdir() if path.is_dir())
    pattern = rf"`(?:larbinpy/)?((?:{folders})/[\w/]*\w)(?:\.py)?`"
    named = {name for page in PAGES for name in re.findall(pattern, page.read_text())}
    assert len(named) > 5
    assert {name for name in named if not (package / f"{name}.py").is_file()} == set()


def test_the_configurations_can_be_loaded(tmp_path: Path) -> None:
    files = [block for block in blocks() if block.startswith("From ")]
    assert len(files) == 2
    for text in files:
        (tmp_path / "larbin.conf").write_text(text)
        assert load(str(tmp_path / "larbin.conf"), {}, []) != Config()


def test_all_packages_are_described() -> None:
    text = (ROOT / "docs" / "architecture.md").read_text()
    packages = {path.parent.name for path in (ROOT / "larbinpy").glob("*/__init__.py")}
    assert {f"`{name}/`" for name in packages} <= set(re.findall(r"`\w+/`", text))


def test_all_outcomes_are_explained() -> None:
    text = (ROOT / "docs" / "outputs.md").read_text()
    assert {outcome.value for outcome in Outcome} <= set(re.findall(r"`(\w+)`", text))


def test_the_tables_of_settings_are_current() -> None:
    text = configuration_docs.FILE.read_text()
    assert text == configuration_docs.renewed(text), "run scripts/configuration-docs"
    assert configuration_docs.GROUPS.keys() <= {row.keyword for row in SETTINGS.values()}
    assert next(iter(SETTINGS.values())).keyword == next(iter(configuration_docs.GROUPS))


def test_a_page_without_marks_is_an_error() -> None:
    with pytest.raises(ValueError, match="made by scripts"):
        configuration_docs.renewed("# Configuration\n")


def test_the_picture_of_a_site_shows_the_table_of_its_states() -> None:
    text = (ROOT / "docs" / "architecture.md").read_text()
    arrow = r"(?=\b([A-Z]+) -+([a-z_]+)-+> ([A-Z]+)\b)"
    drawn = [
        ((State[state], Event[event.upper()]), State[then])
        for state, event, then in re.findall(arrow, text)
    ]
    assert dict(drawn) == TRANSITIONS
    assert len(drawn) == len(TRANSITIONS), "an arrow is drawn twice"


@pytest.fixture
def web(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[dict[str, str]]:
    """Serve the demo web with a larbin.conf; gives replacements for the names in examples."""
    monkeypatch.chdir(tmp_path)
    with demo.serve() as served:
        Path("save").mkdir()
        Writer("save/larbinpy.db").close()
        Path("larbin.conf").write_text(served.conf("out", "state", extra="limitPage 5\n"))
        yield {
            "system_servers()": repr([served.dns]),
            "www.example.org": "www.demo",
            "www.example.com": "www.alpha.demo",
        }


@pytest.mark.parametrize("code", list(programs()))
def test_the_programs_run(
    code: str, web: dict[str, str], capsys: pytest.CaptureFixture[str]
) -> None:
    for name, replacement in web.items():
        code = code.replace(name, replacement)
    exec(compile(code, "example", "exec"), {"__name__": "__main__"})
    printed = capsys.readouterr().out
    if "Crawl(" in code:
        assert "http://www.demo" in printed and "'exit_code': 0" in printed
    if "Resolver(" in code:
        assert re.search(r"^www\.demo \('127\.", printed, re.MULTILINE)


def test_the_exit_statuses_are_those_of_the_program() -> None:
    section = (ROOT / "docs/operating.md").read_text().partition("## Exit status\n")[2]
    rows = re.findall(r"^\| (\d+) \| (.*) \|$", section.partition("\n## ")[0], re.MULTILINE)
    words = {int(code): re.sub(r"`|\[|\]\([^)]*\)", "", text) for code, text in rows}
    assert words == MEANINGS
