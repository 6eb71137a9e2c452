// Receives a webhook, and credits each deposit exactly once.
//
//     SECRET=whsec_… PORT=9000 bun examples/webhook.ts
//
// The cursor of each event is stored in the same transaction as its effect. The node delivers an event again until it is
// accepted, so the program can be killed at any point: a delivery that it has seen changes nothing.
import { Database } from 'bun:sqlite';
import { createHmac, timingSafeEqual } from 'node:crypto';

const { SECRET = '', PORT = '9000', LEDGER = 'webhook.db', UNTIL_CREDITS } = process.env;

interface Delivery {
  readonly events: readonly { readonly type: string; readonly data: Data }[];
}

interface Data {
  readonly cursor: string;
  readonly scope?: string;
  readonly phase?: string;
  readonly txid: string;
  readonly outputs: readonly { readonly n: number; readonly value: number }[];
}

const db = new Database(LEDGER, { create: true });
db.run('CREATE TABLE IF NOT EXISTS credits (txid TEXT, n INTEGER, satoshis INTEGER, PRIMARY KEY (txid, n))');
db.run('CREATE TABLE IF NOT EXISTS seen (cursor TEXT PRIMARY KEY)');

/** Whether a delivery is signed by the secret and not older than five minutes. */
function isGenuine(headers: Headers, body: string): boolean {
  const id = headers.get('webhook-id');
  const time = headers.get('webhook-timestamp');
  if (!(Math.abs(Date.now() / 1000 - Number(time)) <= 300)) return false;
  const key = Buffer.from(SECRET.slice('whsec_'.length), 'base64');
  const expected = createHmac('sha256', key).update(`${id}.${time}.${body}`).digest();
  const signatures = headers.get('webhook-signature')?.split(' ') ?? [];
  return signatures.some((signature) => {
    const given = Buffer.from(signature.replace('v1,', ''), 'base64');
    return given.length === expected.length && timingSafeEqual(given, expected);
  });
}

let credits = 0;
const processDelivery = db.transaction(({ events }: Delivery) => {
  for (const { type, data } of events) {
    // The cursor of a gap is a position, which an event may have as well.
    if (type === 'gap') {
      console.error(JSON.stringify(data)); // scope "all": compare the ledger with GET /api/address/{address}/txs
      continue;
    }
    if (db.run('INSERT OR IGNORE INTO seen VALUES (?)', [data.cursor]).changes === 0) continue;
    if (type === 'addressTransaction' && data.phase === 'confirmed')
      for (const { n, value } of data.outputs) {
        db.run('INSERT INTO credits VALUES (?, ?, ?)', [data.txid, n, value]);
        console.log(`credit ${data.txid}:${n} ${value}`);
        credits++;
      }
    else if (type === 'addressTransaction' && data.phase === 'reverted')
      db.run('DELETE FROM credits WHERE txid = ?', [data.txid]);
  }
});

const server = Bun.serve({
  hostname: '127.0.0.1',
  port: Number(PORT),
  async fetch(request) {
    const body = await request.text();
    if (!isGenuine(request.headers, body)) return new Response('wrong signature', { status: 401 });
    processDelivery(JSON.parse(body) as Delivery);
    if (credits >= Number(UNTIL_CREDITS ?? Infinity)) setTimeout(() => process.exit(), 100);
    return new Response(null, { status: 204 });
  },
});
console.error(`listening on ${server.url}`);
