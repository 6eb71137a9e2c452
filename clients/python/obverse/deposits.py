"""Follows the deposits to the addresses of a store, and applies each change exactly once.

The store keeps the changes and the position behind the last event in one transaction. Everything else may fail, restart or be
killed at any point.
"""
from __future__ import annotations

import asyncio
import logging
from collections.abc import AsyncGenerator, Iterable, Sequence
from contextlib import aclosing
from dataclasses import dataclass
from typing import Any, Literal, Protocol

from .client import ObverseClient, ObverseError, pause_before
from .events import pages_of_events, socket_events

TYPES = ("newBlock", "addressTransaction", "confirmation", "reorg")
WATCHES_AT_ONCE = 1000
STATUSES_AT_ONCE = 1000
ADDRESS_PAGE = 500
WATCH_PAGE = 1000

log = logging.getLogger("obverse")


@dataclass(frozen=True)
class Deposit:
    """One output that pays a watched address. ``txid`` and ``n`` identify it; ``value`` is in satoshis.

    ``block_hash`` and ``height`` are None while it is unconfirmed. A coinbase cannot be spent before 100 confirmations.
    """

    txid: str
    n: int
    address: str
    value: int
    block_hash: str | None
    height: int | None
    is_coinbase: bool
    confirmations: int


@dataclass(frozen=True)
class Change:
    """A change of the deposits of a transaction to an address; to all addresses where that is None.

    ``unconfirmed`` and ``confirmed``: ``deposits`` are in the mempool, or in a block. ``reverted``: their block has left the
    active chain; the transaction may return, or a conflicting one may be confirmed. ``removed``: they have left the
    mempool, or a reorg has not brought them back. ``final`` and ``not-final``: they have reached the confirmations that the store asks for, or lost them.
    """

    type: Literal["unconfirmed", "confirmed", "reverted", "removed", "final", "not-final"]
    txid: str
    address: str | None
    deposits: tuple[Deposit, ...] = ()


@dataclass(frozen=True)
class PrunedTransaction:
    """A transaction whose block the node has pruned: it knows where it is, and not its outputs."""

    txid: str
    block_hash: str
    height: int
    confirmations: int


class DepositStore(Protocol):
    """The ledger of the application. Its methods are short: they run between two events.

    A position is a text of at most 80 characters, which only the watcher reads: it holds the cursor of an event, and the
    confirmations that the ledger follows from.
    """

    # Confirmations at which a deposit is final, 1 to 1000. After a change the ledger is reconciled at the next start.
    confirmations: int

    def position(self) -> str | None:
        """Returns the stored position; None for a new ledger."""

    def addresses(self) -> Sequence[str]:
        """Returns all addresses that were given to customers, in the form in which the node returns them."""

    def unconfirmed(self) -> Iterable[str]:
        """Returns the ids of the transactions of deposits that are stored as unconfirmed."""

    def apply(self, changes: Sequence[Change], position: str) -> None:
        """Applies the changes, of which there may be none, and stores the position in ONE transaction."""

    def reconcile(self, deposits: Sequence[Deposit], position: str, pruned: Sequence[PrunedTransaction]) -> None:
        """Makes the ledger equal to these deposits, which are all that exist, and stores the position in ONE transaction.

        A pruned node no longer knows the outputs of the transactions ``pruned``: the ledger keeps its deposits of them,
        whose block and confirmations are those of the transaction.
        """


async def watch_addresses(client: ObverseClient, addresses: Sequence[str], confirmations: int) -> int:
    """Asks the node to keep the events of addresses, from the next event on.

    An application calls this before it gives an address to a customer, and may repeat it. It leaves the watches of older
    addresses to ``watch_deposits``, which reconciles the ledger where the node has lost some. Returns how many addresses
    were not watched before.
    """
    created = 0
    for start in range(0, len(addresses), WATCHES_AT_ONCE):
        some = addresses[start : start + WATCHES_AT_ONCE]
        watches = [{"kind": "address", "value": value, "confirmations": [confirmations]} for value in some]
        created += (await client.call("putWatches", body={"watches": watches}))["createdCount"]
    return created


async def watch_deposits(
    client: ObverseClient,
    store: DepositStore,
    transport: Literal["pages", "websocket"] = "pages",
) -> None:
    """Follows deposits until the task is cancelled. Raises what a repetition does not mend, such as a revoked key."""
    attempt = 0
    task = asyncio.current_task()
    while True:
        # Older versions of websockets lose a cancellation while they close a connection.
        if task and task.cancelling():
            raise asyncio.CancelledError
        try:
            async with aclosing(_applied_batches(client, store, transport)) as batches:
                async for _ in batches:
                    attempt = 0
        except ObverseError as error:
            if not error.retryable:
                raise
            pause = pause_before(attempt, error.retry_after)
            attempt += 1
            log.warning("again in %d ms: %s", pause * 1000, error)
            await asyncio.sleep(pause)


async def _applied_batches(client: ObverseClient, store: DepositStore, transport: str) -> AsyncGenerator[None, None]:
    """Yields after each stored batch. Ends where the events have to be requested from a new position."""
    confirmations = store.confirmations
    position = store.position()
    unwatched = await _unwatched_addresses(client, store.addresses(), confirmations)
    if unwatched:
        # Once the watches exist again, nothing shows that events are missing. So the ledger stores it before.
        if position is not None:
            store.apply([], _position_of(None, confirmations))
        await watch_addresses(client, unwatched, confirmations)
    after = None if position is None or unwatched else _cursor_in(position, confirmations)
    if after is None:
        reason = f"the position follows no events of deposits at {confirmations} confirmations"
        if unwatched:
            reason = f"{len(unwatched)} addresses were not watched at {confirmations} confirmations"
        await _reconcile(client, store, "the ledger is new" if position is None else reason)
        return
    source = pages_of_events if transport == "pages" else socket_events
    try:
        async with aclosing(source(client, after, TYPES)) as batches:
            async for batch in batches:
                gap = batch.gap
                scope = gap["scope"] if gap else None
                if scope == "all":
                    await _reconcile(client, store, "events of blocks are missing")
                    return
                if gap and scope == "confirmations" and gap.get("threshold") == confirmations:
                    pruned = f"the block at the height {gap.get('height')} is pruned: confirmations are missing"
                    await _reconcile(client, store, pruned)
                    return
                gone = await _removed_since(client, store) if scope == "mempool" else []
                store.apply(gone + changes_of(batch.events, confirmations), _position_of(batch.cursor, confirmations))
                yield
    except ObverseError as error:
        # The position is not in this log: the node was restored, or replaced by another one.
        if error.code not in ("invalid_cursor", "block_pruned"):
            raise
        await _reconcile(client, store, str(error))


def _position_of(cursor: str | None, confirmations: int) -> str:
    """The position of a ledger at a number of confirmations. Without a cursor the ledger has to be reconciled.

    An event names the threshold that a deposit has reached, so the events behind a cursor complete only a ledger with the
    same number.
    """
    return f"{confirmations}:{cursor or ''}"


def _cursor_in(position: str, confirmations: int) -> str | None:
    """Returns the cursor of a position; None where the ledger has to be reconciled first."""
    number, _, cursor = position.partition(":")
    return cursor if number == str(confirmations) and cursor else None


async def _unwatched_addresses(client: ObverseClient, addresses: Sequence[str], confirmations: int) -> list[str]:
    """Returns the addresses that the node does not watch at these confirmations.

    They are new ones, and those whose watch it has lost, because its data was restored from an older copy or the watch was
    removed. Such a watch has sent no events.
    """
    if not addresses:
        return []
    watches = await client.list_items("getWatches", kind="address", limit=WATCH_PAGE)
    watched = {watch["value"] for watch in watches if confirmations in watch["confirmations"]}
    # Bech32 is one address in both cases.
    return [address for address in addresses if address not in watched and address.lower() not in watched]


def changes_of(events: Iterable[dict[str, Any]], confirmations: int) -> list[Change]:
    """Returns the changes that events mean for deposits, in their order."""
    changes: list[Change] = []
    for event in events:
        data = event["data"]
        if event["type"] == "addressTransaction" and data["outputs"]:
            phase = data["phase"]
            if phase in ("reverted", "removed"):
                changes.append(Change(phase, data["txid"], data["address"]))
            else:
                kind: Any = "confirmed" if phase == "confirmed" else "unconfirmed"
                changes.append(Change(kind, data["txid"], data["address"], _deposits_of(data, data["address"])))
        elif event["type"] == "reorg":
            lost = (tx["txid"] for tx in data["txs"] if tx["fate"] in ("conflicted", "dropped"))
            changes += [Change("removed", txid, None) for txid in lost]
        elif event["type"] == "confirmation" and data["threshold"] == confirmations:
            if data["address"] is not None and data["received"]:
                changes.append(Change("not-final" if data["reverted"] else "final", data["txid"], data["address"]))
    return changes


def _deposits_of(tx: dict[str, Any], address: str) -> tuple[Deposit, ...]:
    status = tx["status"]
    return tuple(
        Deposit(
            txid=tx["txid"],
            n=output["n"],
            address=address,
            value=output["value"],
            block_hash=status["blockHash"],
            height=status["blockHeight"],
            # The first transaction of a block is its coinbase.
            is_coinbase=status["blockIndex"] == 0,
            confirmations=status["confirmations"],
        )
        for output in tx["outputs"]
    )


async def _removed_since(client: ObverseClient, store: DepositStore) -> list[Change]:
    """Events of the mempool are missing: finds unconfirmed deposits that are neither in the mempool nor in a block."""
    txids = sorted(set(store.unconfirmed()))
    changes: list[Change] = []
    for start in range(0, len(txids), STATUSES_AT_ONCE):
        some = txids[start : start + STATUSES_AT_ONCE]
        statuses = await client.call("getTxsStatus", body={"txids": some})
        changes += [Change("removed", txid, None) for txid in some if statuses[txid] is None]
    return changes


async def _reconcile(client: ObverseClient, store: DepositStore, reason: str) -> None:
    """Compares the ledger with the chain.

    The position is read first: events behind it may repeat a part of what REST shows then, and change nothing when they do.
    """
    log.warning("the ledger is compared with the chain: %s", reason)
    cursor = (await client.call("getEvents", limit=1))["lastCursor"]
    deposits: list[Deposit] = []
    pruned: list[PrunedTransaction] = []
    for address in store.addresses():
        txs = await client.list_items("getAddressTxs", address=address, order="asc", limit=ADDRESS_PAGE)
        # A transaction that moves from the mempool to a block between two pages is listed twice.
        for tx in {tx["txid"]: tx for tx in txs}.values():
            if tx["outputs"] is None:
                at = tx["status"]
                place = (at["blockHash"], at["blockHeight"], at["confirmations"])
                pruned.append(PrunedTransaction(tx["txid"], *place))
            else:
                deposits += _deposits_of(tx, address)
    store.reconcile(deposits, _position_of(cursor, store.confirmations), pruned)
