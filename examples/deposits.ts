// Credits each deposit to one address exactly once, and reverts it when a reorg disconnects its block.
//
//     URL=http://127.0.0.1:18443 KEY=… ADDRESS=… bun examples/deposits.ts
//
// The position (the cursor of the last processed event) is stored in the same transaction as the credit. So the program can
// be killed at any point, and the node restarted: each event takes effect once.
import { Database } from 'bun:sqlite';

const { URL = 'http://127.0.0.1:18443', KEY, ADDRESS, LEDGER = 'ledger.db', UNTIL_CREDITS } = process.env;
const headers = { authorization: `Bearer ${KEY}` };

interface Page {
  readonly items: readonly { readonly data: AddressTransaction }[];
  readonly gap: { readonly scope: 'mempool' | 'all' } | null;
  readonly lastCursor: string;
}

interface AddressTransaction {
  readonly cursor: string;
  readonly phase: 'mempool' | 'confirmed' | 'reverted' | 'removed';
  readonly txid: string;
  readonly outputs: readonly { readonly n: number; readonly value: number }[];
}

const db = new Database(LEDGER, { create: true });
db.run('CREATE TABLE IF NOT EXISTS credits (txid TEXT, n INTEGER, satoshis INTEGER, PRIMARY KEY (txid, n))');
db.run('CREATE TABLE IF NOT EXISTS position (id INTEGER PRIMARY KEY CHECK (id = 1), cursor TEXT)');

const position = () => db.query<{ cursor: string }, []>('SELECT cursor FROM position').get()?.cursor ?? '0';
const storePosition = (cursor: string) => db.run('INSERT OR REPLACE INTO position VALUES (1, ?)', [cursor]);

const processEvent = db.transaction((event: AddressTransaction) => {
  if (event.phase === 'confirmed') {
    for (const { n, value } of event.outputs) {
      db.run('INSERT INTO credits VALUES (?, ?, ?)', [event.txid, n, value]);
      console.log(`credit ${event.txid}:${n} ${value}`);
    }
  } else if (event.phase === 'reverted') {
    db.run('DELETE FROM credits WHERE txid = ?', [event.txid]);
    console.log(`revert ${event.txid}`);
  }
  storePosition(event.cursor);
});

/** Returns the reply, and retries while the node is away (network error) or starting (503). */
async function request(path: string, init: RequestInit = {}): Promise<Response> {
  for (;;) {
    const reply = await fetch(URL + path, { ...init, headers: { ...headers, ...init.headers } }).catch(() => null);
    if (reply?.ok) return reply;
    if (reply && reply.status !== 503) throw new Error(await reply.text());
    await Bun.sleep(500);
  }
}

// The node stores the watch with the key, so that its events are complete even while this program is away.
await request('/api/watches', {
  method: 'POST',
  headers: { 'content-type': 'application/json' },
  body: JSON.stringify({ kind: 'address', value: ADDRESS }),
});

for (let credits = 0; credits < Number(UNTIL_CREDITS ?? Infinity); ) {
  const reply = await request(`/api/events?types=addressTransaction&wait=20&after=${position()}`);
  const { items, gap, lastCursor } = (await reply.json()) as Page;
  // The log no longer holds all events since the position: compare the ledger with GET /api/address/{address}/txs first.
  if (gap?.scope === 'all') throw new Error('the position is too old');
  for (const { data } of items) {
    processEvent(data);
    if (data.phase === 'confirmed') credits += data.outputs.length;
  }
  storePosition(lastCursor);
}
