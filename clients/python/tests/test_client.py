"""Runs against a node (NODE, KEY) and a proxy in front of it (PROXY) that spoils requests; the suite of the node starts both."""
from __future__ import annotations

import asyncio
import http.server
import os
import tempfile
import threading
import time
import unittest
import urllib.request
from collections.abc import Callable
from decimal import Decimal
from typing import Any

from examples.ledger import Ledger
from obverse import (
    Deposit,
    ObverseClient,
    ObverseError,
    PrunedTransaction,
    coins_of,
    satoshis_of,
    watch_addresses,
    watch_deposits,
)
from obverse.deposits import changes_of
from obverse.events import socket_events

KEY = os.environ["KEY"]
PROXY = os.environ["PROXY"]
NODE = os.environ["NODE"]


class Faults(unittest.IsolatedAsyncioTestCase):
    """Each test has a URL of its own, which names the faults of its first requests."""

    def through(self, *faults: str) -> ObverseClient:
        client = ObverseClient(f"{PROXY}/{self.id()}/{','.join(faults) or 'none'}", KEY, timeout=2)
        self.addCleanup(client.close)
        return client

    def requests(self) -> int:
        with urllib.request.urlopen(f"{PROXY}/{self.id()}") as reply:
            return int(reply.read())

    async def test_a_read_is_repeated_over_refusals_replies_of_proxies_lost_replies_and_time_outs(self) -> None:
        info = await self.through("503", "502", "drop", "lost", "hang").call("getInfo")
        self.assertEqual(info["network"], "regtest")
        self.assertEqual(self.requests(), 6)

    async def test_the_pause_of_a_429_is_that_of_retry_after(self) -> None:
        start = time.monotonic()
        await self.through("429").call("getInfo")
        self.assertGreaterEqual(time.monotonic() - start, 1)

    async def test_an_error_that_a_repetition_does_not_mend_is_raised_at_once(self) -> None:
        with self.assertRaises(ObverseError) as raised:
            await self.through().call("getBlock", hash="00" * 32)
        self.assertEqual((raised.exception.code, raised.exception.status), ("block_not_found", 404))
        self.assertFalse(raised.exception.retryable)
        self.assertEqual(self.requests(), 1)

    async def test_a_payment_whose_reply_is_lost_is_sent_once_with_a_request_id(self) -> None:
        client = self.through("lost", "drop")
        params = {"address": await self.address(), "amount": coins_of(1_234_567), "request_id": self.id()}
        txid = await client.rpc("sendtoaddress", params)
        self.assertEqual(self.requests(), 3)
        async with ObverseClient(NODE, KEY) as node:
            self.assertEqual(await node.rpc("sendtoaddress", params), txid)
            received = [d["amount"] for d in (await node.rpc("gettransaction", [txid]))["details"] if d["amount"] > 0]
        self.assertEqual([satoshis_of(amount) for amount in received], [1_234_567])

    async def test_a_payment_without_a_request_id_is_not_repeated(self) -> None:
        params = {"address": await self.address(), "amount": coins_of(1_234_567)}
        with self.assertRaises(ObverseError) as raised:
            await self.through("503").rpc("sendtoaddress", params)
        self.assertTrue(raised.exception.retryable)
        self.assertEqual(self.requests(), 1)

    async def test_a_wrong_key_is_refused(self) -> None:
        async with ObverseClient(NODE, "obv1_wrong") as node:
            for call in (node.call("getFees"), node.rpc("getblockcount")):
                with self.assertRaises(ObverseError) as raised:
                    await call
                self.assertEqual((raised.exception.code, raised.exception.retryable), ("invalid_credentials", False))

    async def test_a_list_has_the_items_of_all_pages(self) -> None:
        async with ObverseClient(NODE, KEY) as node:
            heights = [block["height"] for block in await node.list_items("getBlocks", limit=50)]
        self.assertEqual(heights, list(range(heights[0], -1, -1)))

    async def address(self) -> str:
        async with ObverseClient(NODE, KEY) as node:
            return await node.rpc("getnewaddress")


class Crash(Exception):
    pass


class Deposits(unittest.IsolatedAsyncioTestCase):
    """A ledger with one watched address, and a key of its own."""

    async def asyncSetUp(self) -> None:
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.path = f"{folder.name}/ledger.db"
        self.node = ObverseClient(NODE, KEY)
        self.addCleanup(self.node.close)
        self.client = ObverseClient(NODE, (await self.node.rpc("createapikey", ["watcher", ["read"]]))["key"])
        self.addCleanup(self.client.close)
        self.elsewhere = await self.node.rpc("getnewaddress")
        self.address = await self.node.rpc("getnewaddress")

    async def begin(self, confirmations: int) -> Ledger:
        ledger = Ledger(self.path, confirmations)
        ledger.add_address(self.address, "alice")
        await watch_addresses(self.client, [self.address], confirmations)
        return ledger

    async def follow(self, ledger: Ledger) -> None:
        """Follows deposits until the ledger has processed one more block."""
        await self.mine(1)
        cursor = (await self.client.call("getEvents", limit=1))["lastCursor"]
        watching = asyncio.create_task(watch_deposits(self.client, ledger))
        async with asyncio.timeout(60):
            while ledger.position() != f"{ledger.confirmations}:{cursor}" and not watching.done():
                await asyncio.sleep(0.02)
        watching.cancel()
        with self.assertRaises(asyncio.CancelledError):
            await watching

    async def mine(self, blocks: int) -> None:
        await self.node.rpc("generatetoaddress", [blocks, self.elsewhere])

    async def pay(self, coins: str) -> None:
        await self.node.rpc("sendtoaddress", [self.address, coins])

    async def test_the_ledger_follows_a_changed_number_of_confirmations(self) -> None:
        ledger = await self.begin(3)
        await self.follow(ledger)
        await self.pay("0.01")
        await self.mine(2)
        await self.pay("0.02")
        await self.mine(1)
        watch = {"kind": "address", "value": self.address, "confirmations": [2, 3, 6]}
        await self.client.call("putWatches", body=watch)
        await self.follow(ledger)
        # The first deposit has four confirmations, and the other one two. Each call of follow adds one.
        self.assertEqual(ledger.balance("alice"), 1_000_000)
        for confirmations, balance in ((6, 0), (2, 3_000_000)):
            changed = Ledger(self.path, confirmations)
            await self.follow(changed)
            self.assertEqual(changed.balance("alice"), balance)

    async def test_a_ledger_is_reconciled_after_the_node_has_lost_a_watch_also_over_a_crash(self) -> None:
        class DyingLedger(Ledger):
            def reconcile(self, *_: Any) -> None:
                raise Crash

        ledger = await self.begin(1)
        await self.follow(ledger)
        await self.client.call("removeWatches", all=True)
        await self.pay("0.01")
        await self.mine(1)
        with self.assertRaises(Crash):
            await watch_deposits(self.client, DyingLedger(self.path, 1))
        # The watch exists again, so that only the ledger knows what it has missed.
        self.assertEqual(len((await self.client.call("getWatches"))["items"]), 1)
        await self.follow(ledger)
        self.assertEqual(ledger.balance("alice"), 1_000_000)

    async def test_a_deposit_whose_block_has_been_pruned_is_credited_and_keeps_its_outputs(self) -> None:
        ledger = await self.begin(3)
        ledger.reconcile([Deposit("t", 0, self.address, 1000, "b", 7, False, 2)], "a", [])
        for _ in range(2):
            ledger.reconcile([], "b", [PrunedTransaction("t", "b", 7, 400)])
        self.assertEqual(ledger.balance("alice"), 1000)


class Redirects(unittest.IsolatedAsyncioTestCase):
    async def test_a_redirect_is_a_failure_and_its_target_does_not_receive_the_key(self) -> None:
        received: list[str | None] = []

        class Target(http.server.BaseHTTPRequestHandler):
            def do_GET(self) -> None:
                received.append(self.headers["Authorization"])
                self.send_response(500)
                self.end_headers()

            do_POST = do_GET

        class Redirecting(http.server.BaseHTTPRequestHandler):
            def do_GET(self) -> None:
                self.send_response(307)
                self.send_header("Location", f"{target}{self.path}")
                self.end_headers()

            do_POST = do_GET

        target = self.serve(Target)
        async with ObverseClient(self.serve(Redirecting), KEY) as node:
            for call in (node.call("getInfo"), node.rpc("getblockcount"), anext(socket_events(node, "a", ("newBlock",)))):
                with self.assertRaises(ObverseError) as raised:
                    await call
                self.assertEqual((raised.exception.code, raised.exception.retryable), ("http_307", False))
        self.assertEqual(received, [])

    def serve(self, handler: Callable[..., http.server.BaseHTTPRequestHandler]) -> str:
        class Quiet(handler):  # type: ignore[valid-type,misc]
            def log_message(self, *_: object) -> None:
                pass

        server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Quiet)
        thread = threading.Thread(target=server.serve_forever)
        thread.start()
        self.addCleanup(thread.join)
        self.addCleanup(server.server_close)
        self.addCleanup(server.shutdown)
        return f"http://127.0.0.1:{server.server_address[1]}"


class Values(unittest.TestCase):
    def test_amounts_are_exact(self) -> None:
        for satoshis in (0, 1, 99_999_999, 100_000_000, 2_099_999_997_690_000):
            self.assertEqual(satoshis_of(coins_of(satoshis)), satoshis)
        self.assertEqual(coins_of(2_099_999_997_690_000), "20999999.97690000")
        self.assertEqual(satoshis_of(Decimal("0.29")), 29_000_000)
        with self.assertRaises(ValueError):
            satoshis_of("0.000000001")
        with self.assertRaises(ValueError):
            coins_of(-1)

    def test_a_payment_from_a_watched_address_is_no_deposit(self) -> None:
        data = {"txid": "t", "address": "a", "phase": "confirmed", "outputs": [], "sent": 5}
        self.assertEqual(changes_of([{"type": "addressTransaction", "data": data}], 3), [])

    def test_only_the_threshold_of_the_store_makes_a_deposit_final(self) -> None:
        data = {"txid": "t", "address": "a", "received": 5, "reverted": False}
        events = [{"type": "confirmation", "data": {**data, "threshold": threshold}} for threshold in (1, 3, 6)]
        self.assertEqual([change.type for change in changes_of(events, 3)], ["final"])


if __name__ == "__main__":
    unittest.main()
