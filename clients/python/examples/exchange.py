#!/usr/bin/env python3
"""An exchange in small: an address for each customer, deposits that are credited once, withdrawals that are sent once.

    export URL=http://127.0.0.1:18443 KEY=... LEDGER=exchange.db
    python3 exchange.py address alice                              prints a new address of a customer
    python3 exchange.py watch                                      follows deposits until it is ended
    python3 exchange.py withdraw 4711 alice ADDRESS SATOSHIS       sends a withdrawal, and prints its txid
    python3 exchange.py bump 4711 FEERATE                          replaces it by one with a higher feerate (satoshis/vB)
    python3 exchange.py sweep ADDRESS                              sends all coins with the required confirmations
    python3 exchange.py balances                                   prints the balances of the customers, satoshis

Each command may be killed at any point and repeated. The key needs the scopes read, wallet.read and wallet.spend.
"""
from __future__ import annotations

import asyncio
import json
import os
import signal
import sys
from pathlib import Path
from typing import Literal

# The package is beside the examples; an installed one needs no path.
sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from obverse import ObverseClient, coins_of, watch_addresses, watch_deposits  # noqa: E402

from ledger import Ledger  # noqa: E402

CONFIRMATIONS = 3
WALLET = os.environ.get("WALLET", "default")
TRANSPORT: Literal["pages", "websocket"] = "websocket" if os.environ.get("TRANSPORT") == "websocket" else "pages"


async def issue_address(node: ObverseClient, ledger: Ledger, customer: str) -> str:
    """The address is watched before the customer learns it, so that no deposit to it can be missed."""
    address: str = await node.rpc("getnewaddress", [customer], wallet=WALLET)
    ledger.add_address(address, customer)
    await watch_addresses(node, [address], CONFIRMATIONS)
    return address


async def withdraw(node: ObverseClient, ledger: Ledger, id: str, customer: str, to: str, satoshis: int) -> str:
    """The ledger is debited first, then the node sends.

    The request id makes the second step repeatable: the wallet stores it with the payment, and returns the transaction that
    was sent, or the one that has replaced it.
    """
    ledger.book_withdrawal(id, customer, to, satoshis)
    params = {"address": to, "amount": coins_of(satoshis), "request_id": f"withdrawal-{id}"}
    txid: str = await node.rpc("sendtoaddress", params, wallet=WALLET)
    ledger.store_txid(id, txid)
    return txid


async def bump(node: ObverseClient, ledger: Ledger, id: str, fee_rate: float) -> str:
    stored = ledger.withdrawal(id)
    if stored is None:
        raise SystemExit(f"there is no withdrawal {id}")
    # The transaction that stands for the request now; an earlier bump may have replaced the stored one.
    current = await withdraw(node, ledger, id, stored.customer, stored.address, stored.satoshis)
    txid: str = (await node.rpc("bumpfee", [current, {"fee_rate": fee_rate}], wallet=WALLET))["txid"]
    ledger.store_txid(id, txid)
    return txid


async def sweep(node: ObverseClient, address: str) -> str:
    """Coins with fewer confirmations stay, since their deposits may still leave the chain."""
    params = {"recipients": [address], "options": {"minconf": CONFIRMATIONS}}
    return str((await node.rpc("sendall", params, wallet=WALLET))["txid"])


async def main(command: str, *args: str) -> None:
    ledger = Ledger(os.environ.get("LEDGER", "exchange.db"), CONFIRMATIONS)
    async with ObverseClient(os.environ.get("URL", "http://127.0.0.1:18443"), os.environ["KEY"]) as node:
        match command, *args:
            case "address", customer:
                print(await issue_address(node, ledger, customer))
            case "watch", :
                watching = asyncio.create_task(watch_deposits(node, ledger, TRANSPORT))
                for number in (signal.SIGINT, signal.SIGTERM):
                    asyncio.get_running_loop().add_signal_handler(number, watching.cancel)
                await watching
            case "withdraw", id, customer, to, satoshis:
                print(await withdraw(node, ledger, id, customer, to, int(satoshis)))
            case "bump", id, fee_rate:
                print(await bump(node, ledger, id, float(fee_rate)))
            case "sweep", address:
                print(await sweep(node, address))
            case "balances", :
                print(json.dumps({customer: ledger.balance(customer) for customer in ledger.customers()}))
            case _:
                raise SystemExit(__doc__)


if __name__ == "__main__":
    try:
        asyncio.run(main(*(sys.argv[1:] or [""])))
    except asyncio.CancelledError:
        # A request that still waits is of no use; its thread ends with the process.
        os._exit(0)
