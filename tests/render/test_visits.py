"""Pages of scripts that are visited again, and views as seeds: what the database has of them."""

import json
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.support.browser import chromium
from tests.support.crawling import Asked, World, missing, ok
from tests.support.revisits import all_due
from tests.support.webserver import Step

pytestmark = pytest.mark.slow

_SHELL = b"""<!DOCTYPE html><title>App</title><div id="app"></div><script>
fetch("/data?" + location.hash.slice(1)).then((r) => r.text()).then((t) => { app.innerText = t; });
</script>"""


class App:
    """One page, whose words its server gives apart from it."""

    def __init__(self, folder: Path) -> None:
        chromium()
        self.world = World(folder)
        self.words = "Low water at noon."
        self.web = self.world.web(self._answer, "site.test")
        self.world.conf(
            "render **",
            "outputMode database",
            "database crawl.db",
            "renderWait 0.01",
            "limitTime 3",
            "revisitMin 1s",
            "revisitMax 1s",
        )

    def _answer(self, asked: Asked) -> Iterator[Step]:
        if asked.path == "/":
            yield ok(_SHELL)
        elif asked.path.startswith("/data?"):
            words = f"{self.words} {asked.path[6:]}"
            yield ok(words.encode(), "text/plain", "Cache-Control: no-store")
        else:
            yield missing()

    def crawl(self, *arguments: str) -> None:
        crawler = self.world.crawl(*arguments)
        assert self.world.finish(crawler, 60) == 0, crawler.err

    def say(self, *arguments: str) -> str:
        command = self.world.larbinpy(*arguments)
        assert command.process.returncode == 0, command.err
        return command.out


@pytest.fixture
def app(tmp_path: Path) -> Iterator[App]:
    app = App(tmp_path)
    yield app
    app.world.close()


def test_what_scripts_show_has_changed_since_the_last_visit(app: App) -> None:
    app.crawl(app.web.url())
    assert "Low water at noon." in app.say("show", app.web.url())
    for words, kind in (("Low water at noon.", "new"), ("High water at six.", "changed")):
        app.words = words
        all_due(app.world.folder)
        app.crawl("--resume", "--set", "revisit=round")
        assert words in app.say("show", app.web.url())
        changes = [json.loads(line) for line in app.say("changes", "--json").splitlines()]
        assert changes[-1]["kind"] == kind


def test_views_that_are_seeds_are_pages_of_their_own(app: App) -> None:
    views = [f"{app.web.url()}#/{name}" for name in ("seals", "tides")]
    app.crawl(*views)
    assert app.world.outcomes() == dict.fromkeys(views, "success")
    for view in views:
        assert f"Low water at noon. /{view[-5:]}" in app.say("show", view)
