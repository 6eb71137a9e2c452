#!/usr/bin/env python3
"""Credits each deposit to one address exactly once, with nothing but the standard library.

    URL=http://127.0.0.1:18443 KEY=... ADDRESS=... python3 examples/deposits.py

The position (the cursor of the last processed event) is stored in the same transaction as the credit.
"""
import json
import os
import sqlite3
import time
import urllib.error
import urllib.request

URL = os.environ.get("URL", "http://127.0.0.1:18443")
KEY = os.environ["KEY"]
ADDRESS = os.environ["ADDRESS"]
UNTIL_CREDITS = float(os.environ.get("UNTIL_CREDITS", "inf"))

db = sqlite3.connect(os.environ.get("LEDGER", "ledger.db"), isolation_level=None)
db.execute("CREATE TABLE IF NOT EXISTS credits (txid TEXT, n INTEGER, satoshis INTEGER, PRIMARY KEY (txid, n))")
db.execute("CREATE TABLE IF NOT EXISTS position (id INTEGER PRIMARY KEY CHECK (id = 1), cursor TEXT)")


def position():
    row = db.execute("SELECT cursor FROM position").fetchone()
    return row[0] if row else "0"


def store_position(cursor):
    db.execute("INSERT OR REPLACE INTO position VALUES (1, ?)", (cursor,))


def process_event(event):
    """Applies one event and stores its cursor in one transaction. Returns the number of new credits."""
    credits = 0
    db.execute("BEGIN IMMEDIATE")
    with db:
        if event["phase"] == "confirmed":
            for output in event["outputs"]:
                db.execute("INSERT INTO credits VALUES (?, ?, ?)", (event["txid"], output["n"], output["value"]))
                print(f"credit {event['txid']}:{output['n']} {output['value']}", flush=True)
                credits += 1
        elif event["phase"] == "reverted":
            db.execute("DELETE FROM credits WHERE txid = ?", (event["txid"],))
            print(f"revert {event['txid']}", flush=True)
        store_position(event["cursor"])
    return credits


def request(path, body=None):
    """Returns the decoded reply, and retries while the node is away (network error) or starting (503)."""
    while True:
        headers = {"Authorization": f"Bearer {KEY}", "Content-Type": "application/json"}
        data = None if body is None else json.dumps(body).encode()
        try:
            with urllib.request.urlopen(urllib.request.Request(URL + path, data, headers), timeout=60) as reply:
                return json.load(reply)
        except urllib.error.HTTPError as error:
            if error.code != 503:
                raise SystemExit(error.read().decode())
        except OSError:
            pass
        time.sleep(0.5)


request("/api/watches", {"kind": "address", "value": ADDRESS})
seen = 0
while seen < UNTIL_CREDITS:
    page = request(f"/api/events?types=addressTransaction&wait=20&after={position()}")
    if page.get("gap") and page["gap"]["scope"] == "all":
        raise SystemExit("the position is too old: compare the ledger with GET /api/address/{address}/txs first")
    for item in page["items"]:
        seen += process_event(item["data"])
    store_position(page["lastCursor"])
