"""The events of a node behind a cursor, in batches: by pages (long poll) or over a WebSocket."""
from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncGenerator
from dataclasses import dataclass
from typing import Any

from .api import EventGap
from .client import ObverseClient, ObverseError

PAGE = 500
WAIT_SECONDS = 20
# A reply to a request that waits is late after this time as well.
WAIT_GRACE = 15
PING_SECONDS = 20
OPEN_SECONDS = 15
# A connection that is left has messages that are not read, behind which the reply to its close would come.
CLOSE_SECONDS = 0.5
# The largest message is a block with many transactions.
MAX_MESSAGE = 64 * 2**20
# Close codes after which the same key is refused again: it was revoked, or has lost a right.
FINAL_CLOSE_CODES = frozenset({1003, 1007, 1009, 4001, 4003, 4400})


@dataclass(frozen=True)
class EventBatch:
    """Events in their order, or a gap: missing events. ``cursor`` is the position behind them."""

    events: list[dict[str, Any]]
    gap: EventGap | None
    cursor: str


async def pages_of_events(client: ObverseClient, after: str, types: tuple[str, ...]) -> AsyncGenerator[EventBatch, None]:
    """Reads pages of ``GET /api/events``; each request waits for an event."""
    while True:
        page = await client.call(
            "getEvents",
            after=after,
            types=",".join(types),
            limit=PAGE,
            wait=WAIT_SECONDS,
            timeout=WAIT_SECONDS + WAIT_GRACE,
            retry_for=0,
        )
        after = page["lastCursor"]
        before = [{"type": "gap", "data": page["gap"]}] if page["gap"] else []
        batches = _batches_of([*before, *page["items"]])
        for batch in batches[:-1]:
            yield batch
        # Behind its last item as well, where no later event has one of the types.
        last = batches[-1] if batches else EventBatch([], None, after)
        yield EventBatch(last.events, last.gap, after)


def _batches_of(messages: list[dict[str, Any]]) -> list[EventBatch]:
    """Joins consecutive events to one batch; a gap is a batch of its own."""
    batches: list[EventBatch] = []
    for message in messages:
        data = message["data"]
        if message["type"] == "gap":
            batches.append(EventBatch([], data, data["cursor"]))
            continue
        events = batches.pop().events if batches and batches[-1].gap is None else []
        events.append(message)
        batches.append(EventBatch(events, None, data["cursor"]))
    return batches


async def socket_events(client: ObverseClient, after: str, types: tuple[str, ...]) -> AsyncGenerator[EventBatch, None]:
    """Reads the same events over one WebSocket connection."""
    import websockets

    # The names of the parameters depend on the version.
    version = int(websockets.__version__.split(".")[0])
    name = "extra_headers" if version < 14 else "additional_headers"
    url = "ws" + client.url.removeprefix("http") + "/ws"
    options: dict[str, Any] = {name: client.headers, "max_size": MAX_MESSAGE, "open_timeout": OPEN_SECONDS}
    options["close_timeout"] = CLOSE_SECONDS
    if version >= 15:
        # Older versions use no proxies of the environment.
        options["proxy"] = None
    connect = _without_redirects(websockets.connect)
    try:
        # A ping without a reply ends the connection. The library reads no further while its queue is full.
        async with connect(url, ping_interval=PING_SECONDS, ping_timeout=PING_SECONDS, **options) as socket:
            # Begins behind the cursor, and leaves out the default types.
            data = {"events": types, "replace": True, "after": after}
            await socket.send(json.dumps({"type": "subscribe", "id": "begin", "data": data}))
            begun = False
            async for text in socket:
                message = json.loads(text)
                data = message["data"]
                if message["type"] == "error":
                    raise ObverseError(f"/ws: {data['code']}: {data['message']}", data["code"])
                if message.get("id") == "begin":
                    begun = True
                # Messages before the reply do not follow the cursor.
                elif begun and message["type"] == "gap":
                    yield EventBatch([], data, data["cursor"])
                elif begun and "cursor" in data:
                    yield EventBatch([message], None, data["cursor"])
            raise _closed(socket.close_code, socket.close_reason)
    except websockets.exceptions.ConnectionClosed as error:
        close = error.rcvd
        raise _closed(close.code if close else None, close.reason if close else str(error)) from error
    except (OSError, asyncio.TimeoutError, websockets.exceptions.WebSocketException) as error:
        # A request with the same key and cursor is refused for the same reason, with its code.
        await client.call("getEvents", after=after, limit=1, retry_for=0)
        raise ObverseError(f"/ws: {error}", "no_reply", retryable=True) from error


def _without_redirects(connect: Any) -> Any:
    """Returns a variant that follows no redirect: the key is for the node alone."""

    class Connect(connect):  # type: ignore[misc]
        # From version 14 on, and before.
        def process_redirect(self, exc: Exception) -> Exception:
            return exc

        def handle_redirect(self, uri: str) -> None:
            raise OSError(f"redirected to {uri}")

    return Connect


def _closed(code: int | None, reason: str | None) -> ObverseError:
    return ObverseError(f"/ws: closed with {code} {reason}", f"closed_{code}", retryable=code not in FINAL_CLOSE_CODES)
