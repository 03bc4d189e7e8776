from datetime import timedelta, timezone

from store.examples import NOW

from rocmonitor.store import (
    Store,
    alias,
    instance_id,
    open_store,
    reference,
    save_alias,
    save_reference,
)


def test_a_store_keeps_its_id(store: Store, migrated_url: str) -> None:
    first = instance_id(store)
    with open_store(migrated_url) as again:
        assert instance_id(again) == first


def test_a_reference_stays_as_it_was_frozen(store: Store) -> None:
    frozen = {"start": "2026-01-01", "auc": 0.1 + 0.2, "windows": [{"n_pos": 3}], "caveats": []}
    assert reference(store, "credit", "d1") is None
    save_reference(store, "credit", "d1", frozen)
    save_reference(store, "credit", "d1", {"auc": 0.5})
    found = reference(store, "credit", "d1")
    assert found == frozen
    assert list(found) == list(frozen)  # in the order it was written
    assert reference(store, "credit", "d2") is None


def test_an_alias_is_what_was_seen_last(store: Store) -> None:
    assert alias(store, "credit-default", "champion") is None
    save_alias(store, "credit-default", "champion", "7", NOW)
    later = (NOW + timedelta(days=1)).astimezone(timezone(timedelta(hours=5)))
    save_alias(store, "credit-default", "champion", "8", later)
    save_alias(store, "credit-default", "challenger", "9", NOW)
    found = alias(store, "credit-default", "champion")
    assert found == ("8", later)
    assert found[1].utcoffset() == timedelta()
