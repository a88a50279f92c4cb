from larbinpy.fleet.ownership import Shares, shard_of, shards_by_site


def test_a_host_always_has_the_same_shard() -> None:
    assert shard_of("docs.python.org", 1024) == 831
    assert 0 <= shard_of("", 7) < 7


def test_shares_are_even_and_cover_all_shards() -> None:
    shares = Shares(1024).of([f"node{k}.x" for k in range(7)])
    assert sorted(shard for share in shares.values() for shard in share) == list(range(1024))
    sizes = [len(share) for share in shares.values()]
    assert max(sizes) == 147  # 1024 / 7, rounded up
    assert min(sizes) > 140


def test_all_nodes_agree_whatever_they_knew_before() -> None:
    one, other = Shares(64), Shares(64)
    one.of(["c", "d"])
    assert one.of(["a", "b", "c"]) == other.of(["c", "b", "a"])


def test_a_death_moves_little_more_than_the_share_of_the_dead() -> None:
    members = [f"node{k}.x" for k in range(8)]
    shares = Shares(1024)
    before, after = shares.of(members), shares.of(members[1:])
    moved = sum(len(after[name] - before[name]) for name in members[1:])
    assert 128 <= moved <= 128 + 40


def test_nobody_shares_nothing() -> None:
    assert Shares(8).of([]) == {}


def test_the_shard_of_a_site_is_that_of_its_host() -> None:
    of_site = shards_by_site(1024)
    for _ in range(2):
        assert of_site("https://docs.python.org:8443") == 831
        assert of_site("http://[2001:db8::1]:80") == shard_of("[2001:db8::1]", 1024)


def test_versions_agree_about_the_shards_of_nodes() -> None:
    """Those of one crawl may be of two versions while it is updated."""
    assert Shares(12).of(["a", "b"]) == {"a": {2, 5, 7, 8, 10, 11}, "b": {0, 1, 3, 4, 6, 9}}
