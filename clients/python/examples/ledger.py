"""The ledger of an exchange in SQLite: deposits, moves of money and the position, in one database."""
from __future__ import annotations

import sqlite3
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

from obverse import Change, Deposit, PrunedTransaction

SCHEMA = """
PRAGMA journal_mode = WAL;
CREATE TABLE IF NOT EXISTS position (id INTEGER PRIMARY KEY CHECK (id = 1), cursor TEXT NOT NULL);
CREATE TABLE IF NOT EXISTS addresses (address TEXT PRIMARY KEY, customer TEXT NOT NULL);
CREATE TABLE IF NOT EXISTS deposits (
  txid TEXT, n INTEGER, address TEXT NOT NULL, value INTEGER NOT NULL, block TEXT, height INTEGER,
  coinbase INTEGER NOT NULL, credited INTEGER NOT NULL DEFAULT 0, PRIMARY KEY (txid, n));
-- Rows are added and never changed. The balance of a customer is their sum.
CREATE TABLE IF NOT EXISTS moves (
  id INTEGER PRIMARY KEY, customer TEXT NOT NULL, satoshis INTEGER NOT NULL, reason TEXT NOT NULL, reference TEXT NOT NULL);
CREATE TABLE IF NOT EXISTS withdrawals (
  id TEXT PRIMARY KEY, customer TEXT NOT NULL, address TEXT NOT NULL, satoshis INTEGER NOT NULL, txid TEXT);
"""


@dataclass(frozen=True)
class Withdrawal:
    """A booked withdrawal; ``txid`` is None until the node has replied."""

    id: str
    customer: str
    address: str
    satoshis: int
    txid: str | None


class Ledger:
    """A DepositStore."""

    def __init__(self, path: str, confirmations: int) -> None:
        self.confirmations = confirmations
        # Transactions begin and end as written here.
        self._db = sqlite3.connect(path, timeout=10, isolation_level=None)
        self._db.executescript(SCHEMA)

    def position(self) -> str | None:
        rows = self._column("SELECT cursor FROM position")
        return rows[0] if rows else None

    def addresses(self) -> list[str]:
        return self._column("SELECT address FROM addresses")

    def unconfirmed(self) -> list[str]:
        return self._column("SELECT DISTINCT txid FROM deposits WHERE block IS NULL AND credited = 0")

    def customers(self) -> list[str]:
        return self._column("SELECT DISTINCT customer FROM addresses ORDER BY customer")

    def balance(self, customer: str) -> int:
        return int(self._column("SELECT coalesce(sum(satoshis), 0) FROM moves WHERE customer = ?", customer)[0])

    def add_address(self, address: str, customer: str) -> None:
        self._db.execute("INSERT INTO addresses VALUES (?, ?)", (address, customer))

    def apply(self, changes: Sequence[Change], position: str) -> None:
        with self._transaction():
            for change in changes:
                self._apply_change(change)
            self._store_position(position)

    def reconcile(self, deposits: Sequence[Deposit], position: str, pruned: Sequence[PrunedTransaction]) -> None:
        with self._transaction():
            kept = {tx.txid for tx in pruned}
            known = {(deposit.txid, deposit.n) for deposit in deposits}
            for txid, n in self._db.execute("SELECT txid, n FROM deposits").fetchall():
                if (txid, n) not in known and txid not in kept:
                    self._set_credited(False, "txid = ? AND n = ?", txid, n)
                    self._db.execute("DELETE FROM deposits WHERE txid = ? AND n = ?", (txid, n))
            for deposit in deposits:
                self._store(deposit)
                is_final = deposit.confirmations >= self.confirmations
                self._set_credited(is_final, "txid = ? AND n = ?", deposit.txid, deposit.n)
            for tx in pruned:
                self._db.execute(
                    "UPDATE deposits SET block = ?, height = ? WHERE txid = ?", (tx.block_hash, tx.height, tx.txid)
                )
                self._set_credited(tx.confirmations >= self.confirmations, "txid = ?", tx.txid)
            self._store_position(position)

    def book_withdrawal(self, id: str, customer: str, address: str, satoshis: int) -> Withdrawal:
        """Books a withdrawal before it is sent. A repetition returns the stored one.

        After a reorg a balance may be negative; the customer can then withdraw nothing until deposits have made up for it.
        """
        with self._transaction():
            stored = self.withdrawal(id)
            if stored:
                if (stored.customer, stored.address, stored.satoshis) == (customer, address, satoshis):
                    return stored
                raise ValueError(f"withdrawal {id} exists with other values")
            if satoshis <= 0:
                raise ValueError("a withdrawal has at least 1 satoshi")
            if self.balance(customer) < satoshis:
                raise ValueError(f"{customer} has {self.balance(customer)} satoshis")
            self._move(customer, -satoshis, "withdrawal", id)
            self._db.execute("INSERT INTO withdrawals VALUES (?, ?, ?, ?, NULL)", (id, customer, address, satoshis))
            return Withdrawal(id, customer, address, satoshis, None)

    def withdrawal(self, id: str) -> Withdrawal | None:
        row = self._db.execute("SELECT * FROM withdrawals WHERE id = ?", (id,)).fetchone()
        return Withdrawal(*row) if row else None

    def store_txid(self, id: str, txid: str) -> None:
        self._db.execute("UPDATE withdrawals SET txid = ? WHERE id = ?", (txid, id))

    def _apply_change(self, change: Change) -> None:
        if change.type in ("unconfirmed", "confirmed"):
            for deposit in change.deposits:
                self._store(deposit)
        elif change.type == "reverted":
            self._db.execute(
                "UPDATE deposits SET block = NULL, height = NULL WHERE txid = ? AND address = ?",
                (change.txid, change.address),
            )
        elif change.type == "removed":
            # Only an unconfirmed deposit can leave the mempool. A credited one would have lost its credit before.
            self._db.execute(
                "DELETE FROM deposits"
                " WHERE txid = ? AND block IS NULL AND credited = 0 AND address = coalesce(?, address)",
                (change.txid, change.address),
            )
        else:
            self._set_credited(change.type == "final", "txid = ? AND address = ?", change.txid, change.address)

    def _store(self, deposit: Deposit) -> None:
        """A key may hold watches of other programs as well; deposits to addresses of none of the customers are left out."""
        self._db.execute(
            "INSERT INTO deposits SELECT ?, ?, address, ?, ?, ?, ?, 0 FROM addresses WHERE address = ?"
            " ON CONFLICT DO UPDATE SET block = excluded.block, height = excluded.height",
            (
                deposit.txid,
                deposit.n,
                deposit.value,
                deposit.block_hash,
                deposit.height,
                deposit.is_coinbase,
                deposit.address,
            ),
        )

    def _set_credited(self, is_final: bool, condition: str, *values: str | int | None) -> None:
        """A deposit is credited once, and its credit is reversed by a move of its own. A repetition changes nothing."""
        rows = self._db.execute(
            f"SELECT txid, n, value, customer FROM deposits JOIN addresses USING (address)"
            f" WHERE {condition} AND credited = ?",
            (*values, not is_final),
        ).fetchall()
        for txid, n, value, customer in rows:
            self._move(customer, value if is_final else -value, "deposit" if is_final else "reorg", f"{txid}:{n}")
            self._db.execute("UPDATE deposits SET credited = ? WHERE txid = ? AND n = ?", (is_final, txid, n))

    def _move(self, customer: str, satoshis: int, reason: str, reference: str) -> None:
        self._db.execute(
            "INSERT INTO moves (customer, satoshis, reason, reference) VALUES (?, ?, ?, ?)",
            (customer, satoshis, reason, reference),
        )

    def _store_position(self, position: str) -> None:
        self._db.execute("INSERT OR REPLACE INTO position VALUES (1, ?)", (position,))

    def _column(self, sql: str, *values: str) -> list[Any]:
        return [row[0] for row in self._db.execute(sql, values)]

    @contextmanager
    def _transaction(self) -> Iterator[None]:
        self._db.execute("BEGIN IMMEDIATE")
        # Commits at the end, and rolls back at an exception.
        with self._db:
            yield
