"""REST and JSON-RPC of an Obverse node, with time-outs and retries."""
from __future__ import annotations

import asyncio
import http.client
import json
import random
import time
import urllib.error
import urllib.parse
import urllib.request
from concurrent.futures import ThreadPoolExecutor
from decimal import Decimal
from typing import Any

from .api import OPERATIONS

FIRST_PAUSE = 0.25
LONGEST_PAUSE = 15.0
LIST_RESTARTS = 10
# Requests at the same time; each has a thread while it waits for its reply.
PARALLEL = 8

# Codes of refusals that change nothing and end by themselves.
RETRYABLE_CODES = frozenset(
    {
        "rate_limited",
        "too_many_connections",
        "internal_error",
        "audit_unavailable",
        "warming_up",
        "syncing",
        "index_not_ready",
        "overloaded",
        "shutting_down",
    }
)
# Statuses of proxies, whose replies have no code.
RETRYABLE_STATUSES = frozenset({408, 425, 429, 500, 502, 503, 504})
# Refusals before a call is carried out, so that any call may be repeated after them. A node that stops can answer
# shutting_down to a call that it has carried out, and overloaded to one that takes too long.
REFUSED_CODES = frozenset(
    {"rate_limited", "too_many_connections", "audit_unavailable", "warming_up", "syncing", "index_not_ready"}
)
REFUSED_STATUSES = frozenset({425, 429})
# Errors of JSON-RPC that are retryable: the node starts or stops, is in the initial download, or has no free slot.
RETRYABLE_RPC = frozenset({-28, -10, -37})
# Each repetition of these would make or change something again.
NOT_REPEATABLE = frozenset({"createWebhook", "replayWebhook", "replaceWebhookSecret", "testWebhook", "createWsTicket"})


class _NoRedirect(urllib.request.HTTPRedirectHandler):
    """A redirect is a failure: the key is for the node alone."""

    def redirect_request(self, *_: object) -> None:
        return None


# The proxies of the environment are not used either.
_OPENER = urllib.request.build_opener(urllib.request.ProxyHandler({}), _NoRedirect())


class ObverseError(Exception):
    """A failure of the node, of the way to it, or of a call.

    ``code`` is the stable code of REST, ``rpc_error`` for an error of JSON-RPC without one, or ``no_reply``. ``retryable``
    says whether the same request may succeed later, and ``retry_after`` the pause that the node asks for, in seconds.
    """

    def __init__(
        self,
        message: str,
        code: str,
        *,
        status: int | None = None,
        rpc_code: int | None = None,
        details: dict[str, Any] | None = None,
        request_id: str | None = None,
        retryable: bool = False,
        retry_after: float | None = None,
    ) -> None:
        super().__init__(message)
        self.code = code
        self.status = status
        self.rpc_code = rpc_code
        self.details = details
        self.request_id = request_id
        self.retryable = retryable
        self.retry_after = retry_after

    def was_refused(self) -> bool:
        """Whether the call was certainly not carried out."""
        return self.code in REFUSED_CODES or self.status in REFUSED_STATUSES


class ObverseClient:
    """Calls a node. Use it as ``async with ObverseClient(url, key) as node``."""

    def __init__(self, url: str, key: str, *, timeout: float = 35.0, retry_for: float = 60.0) -> None:
        """``timeout`` limits each wait of an attempt; a retryable failure is repeated for ``retry_for`` seconds."""
        self.url = url.rstrip("/")
        self.headers = {"Authorization": f"Bearer {key}"}
        self._timeout = timeout
        self._retry_for = retry_for
        self._threads = ThreadPoolExecutor(PARALLEL, thread_name_prefix="obverse")

    async def __aenter__(self) -> ObverseClient:
        return self

    async def __aexit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """Ends the client. A request that waits for its reply ends with its time limit."""
        self._threads.shutdown(wait=False, cancel_futures=True)

    async def call(
        self,
        operation: str,
        *,
        body: Any = None,
        timeout: float | None = None,
        retry_for: float | None = None,
        **parameters: str | int | bool | None,
    ) -> Any:
        """Calls an operation of REST, for example ``call("getBlock", hash=...)``. Raises ObverseError."""
        method, path = OPERATIONS[operation]
        query: dict[str, str] = {}
        for name, value in parameters.items():
            text = str(value).lower() if isinstance(value, bool) else str(value)
            if f"{{{name}}}" in path:
                path = path.replace(f"{{{name}}}", urllib.parse.quote(text, safe=""))
            elif value is not None:
                query[name] = text
        if query:
            path += "?" + urllib.parse.urlencode(query)
        data = None if body is None else json.dumps(body).encode()

        def send(limit: float) -> Any:
            status, headers, content = self._request(method, path, data, limit)
            if status >= 300:
                raise _error_of_reply(status, headers, content, operation)
            return _body_of(headers, content)

        return await self._repeated(send, operation not in NOT_REPEATABLE, timeout, retry_for)

    async def list_items(self, operation: str, **parameters: Any) -> list[Any]:
        """Returns all items of a list.

        A reorg between two pages makes the cursor of a list invalid (``cursor_reorged``); the list is then read again from
        its beginning.
        """
        for restarts in range(LIST_RESTARTS + 1):
            items: list[Any] = []
            page: dict[str, Any] = {"nextCursor": None}
            try:
                while True:
                    page = await self.call(operation, **parameters, cursor=page["nextCursor"])
                    items += page["items"]
                    if page["nextCursor"] is None:
                        return items
            except ObverseError as error:
                if error.code != "cursor_reorged" or restarts == LIST_RESTARTS:
                    raise
        raise AssertionError("unreachable")

    async def rpc(
        self,
        method: str,
        params: list[Any] | dict[str, Any] | None = None,
        *,
        wallet: str | None = None,
        repeatable: bool | None = None,
        timeout: float | None = None,
        retry_for: float | None = None,
    ) -> Any:
        """Calls a method of JSON-RPC. Amounts of the result are Decimal. Raises ObverseError with ``rpc_code``.

        A call without a reply is sent again if it is ``repeatable``, as a call with a ``request_id`` is.
        """
        params = params or []
        may_repeat = _has_request_id(params) if repeatable is None else repeatable
        path = "/" if wallet is None else "/wallet/" + urllib.parse.quote(wallet, safe="")
        data = json.dumps({"jsonrpc": "2.0", "id": 1, "method": method, "params": params}).encode()

        def send(limit: float) -> Any:
            status, headers, content = self._request("POST", path, data, limit)
            reply = _parsed(content, parse_float=Decimal)
            error = reply.get("error")
            if isinstance(error, dict) and isinstance(error.get("code"), int):
                raise _error_of_rpc(status, headers, error, method)
            if status >= 300 or "result" not in reply:
                raise _error_of_reply(status, headers, content, method)
            return reply["result"]

        return await self._repeated(send, may_repeat, timeout, retry_for)

    async def _repeated(self, send: Any, may_repeat: bool, timeout: float | None, retry_for: float | None) -> Any:
        deadline = time.monotonic() + (self._retry_for if retry_for is None else retry_for)
        attempt = 0
        while True:
            try:
                limit = self._timeout if timeout is None else timeout
                return await asyncio.get_running_loop().run_in_executor(self._threads, send, limit)
            except (OSError, http.client.HTTPException) as cause:
                # The connection failed, or the time limit was reached: the request may or may not have been carried out.
                error = ObverseError(f"no reply: {cause}", "no_reply", retryable=True)
            except ObverseError as refused:
                error = refused
            pause = pause_before(attempt, error.retry_after)
            if not error.retryable or not (may_repeat or error.was_refused()) or time.monotonic() + pause > deadline:
                raise error
            attempt += 1
            await asyncio.sleep(pause)

    def _request(self, method: str, path: str, data: bytes | None, limit: float) -> tuple[int, Any, bytes]:
        headers = dict(self.headers)
        if data is not None:
            headers["Content-Type"] = "application/json"
        request = urllib.request.Request(self.url + path, data, headers, method=method)
        try:
            with _OPENER.open(request, timeout=limit) as reply:
                return reply.status, reply.headers, reply.read()
        except urllib.error.HTTPError as error:
            with error:
                return error.code, error.headers, error.read()


def pause_before(attempt: int, retry_after: float | None = None) -> float:
    """Returns the pause before an attempt in seconds: doubled each time, with a random part, at least ``retry_after``."""
    longest = min(FIRST_PAUSE * 2.0 ** min(attempt, 10), LONGEST_PAUSE)
    return max(longest * random.uniform(0.5, 1), retry_after or 0)


def coins_of(satoshis: int) -> str:
    """Returns satoshis as the text of coins that JSON-RPC accepts, without rounding."""
    if satoshis < 0:
        raise ValueError(f"not an amount in satoshis: {satoshis}")
    return f"{satoshis // 10**8}.{satoshis % 10**8:08d}"


def satoshis_of(coins: Decimal | str) -> int:
    """Returns an amount of JSON-RPC in satoshis."""
    satoshis = Decimal(coins) * 10**8
    if satoshis != satoshis.to_integral_value():
        raise ValueError(f"more than 8 decimals: {coins}")
    return int(satoshis)


def _error_of_reply(status: int, headers: Any, content: bytes, what: str) -> ObverseError:
    error = _parsed(content).get("error")
    error = error if isinstance(error, dict) else {}
    code = error.get("code")
    details = error.get("details")
    return ObverseError(
        f"{what}: {code or status}: {error.get('message') or content[:200].decode(errors='replace')}",
        code or f"http_{status}",
        status=status,
        details=details,
        request_id=error.get("requestId"),
        retryable=_is_retryable(code, details) if code else status in RETRYABLE_STATUSES,
        retry_after=_retry_after(headers),
    )


def _error_of_rpc(status: int, headers: Any, error: dict[str, Any], method: str) -> ObverseError:
    data = error.get("data") or {}
    code = data.get("code", "rpc_error")
    return ObverseError(
        f"{method}: {error['code']}: {error.get('message')}",
        code,
        status=status,
        rpc_code=error["code"],
        details=data.get("details"),
        request_id=data.get("requestId"),
        retryable=error["code"] in RETRYABLE_RPC or _is_retryable(code, data.get("details")),
        retry_after=_retry_after(headers),
    )


def _is_retryable(code: str, details: dict[str, Any] | None) -> bool:
    # The node says of a rejected transaction whether the same bytes may be accepted later.
    if code == "tx_rejected":
        return bool(details and details.get("retryable"))
    return code in RETRYABLE_CODES


def _retry_after(headers: Any) -> float | None:
    try:
        return max(0.0, float(headers.get("Retry-After")))
    except (TypeError, ValueError):
        return None


def _body_of(headers: Any, content: bytes) -> Any:
    kind = headers.get("Content-Type", "")
    if kind.startswith("application/json"):
        return json.loads(content)
    return content if kind.startswith("application/octet-stream") else content.decode()


def _parsed(content: bytes, **options: Any) -> dict[str, Any]:
    try:
        value = json.loads(content, **options)
    except ValueError:
        return {}
    return value if isinstance(value, dict) else {}


def _has_request_id(params: Any) -> bool:
    """Whether the node recognizes a repetition of a call: by a ``request_id`` that is a text."""
    request_id = params.get("request_id") if isinstance(params, dict) else None
    return isinstance(request_id, str) and request_id != ""
