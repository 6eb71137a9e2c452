"""Runs against a node (NODE, KEY) and a proxy in front of it (PROXY) that spoils requests; the suite of the node starts both."""
from __future__ import annotations

import os
import time
import unittest
import urllib.request
from decimal import Decimal

from obverse import ObverseClient, ObverseError, coins_of, satoshis_of
from obverse.deposits import changes_of

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
