"""The links that logins leave out, by their addresses."""

from larbinpy.crawl.sessions import LoginLinks


def test_links_are_avoided_on_sites_with_a_login_alone() -> None:
    links = LoginLinks({"http://a.test": "http://a.test/enter", "http://b.test": ""})
    avoided = ("a.test/logout", "a.test/enter?next=/x", "b.test/do.php?action=signout")
    assert all(links.avoids(f"http://{each}") for each in avoided)
    others = ("a.test/", "a.test/enter/x", "b.test/enter", "c.test/logout", "a.test:81/logout")
    assert not any(links.avoids(f"http://{each}") for each in others)
    assert (links.has("http://b.test"), links.has("http://c.test")) == (True, False)
