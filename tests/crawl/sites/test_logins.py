"""The logins of seeds, as a file that is shared."""

from pathlib import Path

from larbinpy.crawl.sites.logins import NAME, Logins


def test_nodes_add_those_of_all(tmp_path: Path) -> None:
    of_all = Logins(tmp_path)
    of_all.learn("http://me:s%20ecret@a.test/")
    of_all.learn("http://me:other@b.test/")
    of_all.cut()
    assert (tmp_path / NAME).stat().st_mode & 0o777 == 0o600
    folder = tmp_path / "2"
    folder.mkdir()
    node = Logins(folder)
    node.learn("http://you:new@b.test/")
    node.add_shared(tmp_path)
    assert node.of("http://a.test") == "me:s ecret"
    assert node.of("http://b.test") == "you:new"


def test_there_may_be_none(tmp_path: Path) -> None:
    node = Logins(tmp_path)
    node.add_shared(tmp_path)
    assert not node
