"""The faults that keep the service from watching, and the rights of its sources beyond reading."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

from rocmonitor.wording.format import count, first_few, listed, one_line

_MOST_NAMES = 3
_LONGEST = 500  # characters of an error that comes from outside


def _clock(*, offset_seconds: float) -> str:
    which = "ahead of" if offset_seconds > 0 else "behind"
    return (
        f"the clock of this machine is {abs(offset_seconds):,.0f} s {which} that of the store: windows and "
        "leases go by it; set it (timedatectl, chrony)"
    )


def _outbox(*, destination: str, waiting: int, since: str, error: str | None) -> str:
    why = "no attempt has ended" if error is None else one_line(error, _LONGEST)
    return f"{destination}: {count(waiting, 'delivery', 'deliveries')} undelivered since {since}: {why}"


_READER = (
    "CREATE ROLE reader LOGIN PASSWORD '…'; GRANT USAGE ON SCHEMA … TO reader; GRANT SELECT ON … TO reader"
)
_MAY = {
    "role": "has the role {}",
    "write": "may change {}",
    "create": "may create in {}",
    "call": "may call {}",
}


def _may_write(*, account: str, may: Mapping[str, Sequence[str]]) -> str:
    rights = [_MAY[kind].format(first_few(names, _MOST_NAMES)) for kind, names in may.items()]
    if "role" in may or "write" in may:
        way_out = f"use one that only reads: {_READER}"
    else:
        away = [f"REVOKE CREATE ON {name} FROM PUBLIC, {account}" for name in may.get("create", ())]
        away += [f"REVOKE EXECUTE ON these functions FROM PUBLIC, {account}"] if "call" in may else []
        way_out = "; ".join(away)
    return f"WARNING: the account {account} {listed(rights)}; {way_out}"


def _has_grants(*, account: str, grants: Sequence[str]) -> str:
    user = "CREATE USER reader IDENTIFIED BY '…'; GRANT SELECT ON … TO reader"
    some = first_few(grants, _MOST_NAMES)
    return f"WARNING: the account {account} has {some}; use one that only reads: {user}"


SENTENCES: dict[str, str | Callable[..., str]] = {
    "store-unreachable": lambda *, error: f"the store does not answer: {one_line(error, _LONGEST)}",
    "store-unwritable": lambda *, error: (
        f"the store cannot be written: {one_line(error, _LONGEST)}; nothing is judged until it can"
    ),
    "schema-differs": "the schema of the store is {found}, this program needs {needed}; {way_out}",
    "tick-overdue": "{monitor}: its check was due at {due} and has not ended; is a source or the store slow?",
    "never-ticked": "{monitor}: no check has ended since the service started at {since}",
    "work-hung": lambda *, work, since, minutes: (
        f"{work}: working since {since}, without progress for {count(minutes, 'minute')}; restart the service"
    ),
    "outbox-stuck": _outbox,
    "clock-differs": _clock,
    "store-read-by-everybody": "WARNING: every user of this machine may read {file}; chmod 600 it and the "
    "files beside it",
    "account-superuser": "WARNING: the account {account} is a superuser: a query could change anything; "
    f"use one that only reads: {_READER}",
    "account-may-write": _may_write,
    "account-has-grants": _has_grants,
}
