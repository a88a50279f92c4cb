from larbinpy.storage.caches import LruBudget


def test_the_least_recently_used_are_evicted_first() -> None:
    budget: LruBudget[str] = LruBudget(3)
    for key in "abcde":
        budget.use(key)
    budget.use("a")
    assert list(budget.surplus()) == ["b", "c"]
    assert (len(budget), budget.total, list(budget.surplus())) == (3, 3, [])
    assert "a" in budget and "b" not in budget


def test_costs_add_up_and_change() -> None:
    budget: LruBudget[str] = LruBudget(10)
    budget.use("a", 6)
    budget.use("b", 6)
    budget.use("a", 2)
    assert (budget.total, list(budget.surplus())) == (8, [])
    budget.touch("b")
    budget.use("c", 3)
    assert list(budget.surplus()) == ["a"]
    budget.discard("b")
    budget.discard("absent")
    assert (budget.total, repr(budget)) == (3, "<LruBudget 3 of 10, 1 keys>")


def test_the_last_one_stays_whatever_it_costs() -> None:
    budget: LruBudget[str] = LruBudget(1)
    budget.use("a", 1)
    budget.use("b", 100)
    assert list(budget.surplus()) == ["a"]
    assert list(budget.surplus()) == []


def test_a_new_key_can_be_the_first_to_go() -> None:
    budget: LruBudget[str] = LruBudget(2)
    budget.use("a")
    budget.use("b")
    budget.use("c", first_to_go=True)
    assert list(budget.surplus()) == ["c"]
