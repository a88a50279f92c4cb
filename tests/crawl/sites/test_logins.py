"""The logins of seeds, as a file that is shared."""

from pathlib import Path

from larbinpy.crawl.requests import NAME, Logins


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
    assert node.of("http://a.test") == ""
    node.clear()


def test_a_login_that_comes_after_a_save_is_saved_by_the_next(tmp_path: Path) -> None:
    logins = Logins(tmp_path)
    for host in ("a.test", "b.test"):
        logins.learn(f"http://me:{host}@{host}/")
        mark = logins.cut()
    again = Logins(tmp_path)
    again.load(mark)
    assert [again.of(f"http://{host}") for host in ("a.test", "b.test")] == [
        "me:a.test",
        "me:b.test",
    ]
