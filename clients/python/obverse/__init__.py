"""Client of an Obverse node: REST, JSON-RPC, events and deposits.

The standard library is enough; ``transport="websocket"`` also needs the package ``websockets`` (Debian: python3-websockets).
"""
from .client import ObverseClient, ObverseError, coins_of, satoshis_of
from .deposits import Change, Deposit, DepositStore, PrunedTransaction, watch_addresses, watch_deposits

__all__ = [
    "Change",
    "Deposit",
    "DepositStore",
    "ObverseClient",
    "ObverseError",
    "PrunedTransaction",
    "coins_of",
    "satoshis_of",
    "watch_addresses",
    "watch_deposits",
]
