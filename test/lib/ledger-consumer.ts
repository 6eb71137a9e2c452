// The deposit program of an exchange: it follows the deposits to one address in a ledger of its own, and stores one
// position, the cursor of the last event that it has booked, in the same transaction. It survives the node, and a kill
// at any point. `url key ledger address way after [until] [dieAt]`: it begins behind `after` where the ledger is new,
// over a WebSocket (`ws`), by pages (`pages`) or server-sent events (`sse`), where the address is a stored watch of the
// key. It ends itself at the dieAt-th step, as kill -9 would, and ends well when all up to the event numbered `until` is
// booked; without that it goes on for ever. With the way `webhook` it receives deliveries on the port HOOK_PORT, which
// HOOK_SECRET signs, and stores the cursor of each event in place of a position.
import { Database } from 'bun:sqlite';
import { createHmac, timingSafeEqual } from 'node:crypto';

const [url, key, path, address, way, after, until = '', dieAt = ''] = process.argv.slice(2);
const RETRY_MS = 30;
const PAGE = 50;
const headers = { authorization: `Bearer ${key}` };

interface Message {
  readonly type: string;
  readonly data: {
    readonly seq: number;
    readonly cursor?: string;
    readonly scope?: string;
    readonly phase?: string;
    readonly txid?: string;
    readonly outputs?: readonly { n: number; value: number }[];
  };
}

const ledger = new Database(path!, { create: true });
ledger.run('PRAGMA journal_mode = WAL');
ledger.run('PRAGMA busy_timeout = 5000');
// A kill of the process loses no commit without a sync either.
ledger.run('PRAGMA synchronous = OFF');
ledger.run('CREATE TABLE IF NOT EXISTS seen (cursor TEXT PRIMARY KEY)');
ledger.run('CREATE TABLE IF NOT EXISTS position (id INTEGER PRIMARY KEY CHECK (id = 1), cursor TEXT NOT NULL)');
// A second credit for the same output is an error.
ledger.run('CREATE TABLE IF NOT EXISTS credits (txid TEXT, n INTEGER, value INTEGER, PRIMARY KEY (txid, n))');
ledger.run('CREATE TABLE IF NOT EXISTS moves (txid TEXT, n INTEGER, amount INTEGER)');

/** Where to go on: a cursor, or in a new ledger what the command names. */
function position(): string | number {
  const row = ledger.query<{ cursor: string }, []>('SELECT cursor FROM position').get();
  return row?.cursor ?? (/^[0-9]+$/.test(after!) ? Number(after) : after!);
}

let steps = 0;
function step(): void {
  if (++steps === Number(dieAt)) process.kill(process.pid, 'SIGKILL');
}

function apply({ type, data }: Message): void {
  if (type !== 'addressTransaction') return;
  for (const { n, value } of data.outputs!) {
    if (data.phase === 'confirmed') {
      ledger.run('INSERT INTO credits VALUES (?, ?, ?)', [data.txid!, n, value]);
      ledger.run('INSERT INTO moves VALUES (?, ?, ?)', [data.txid!, n, value]);
    } else if (data.phase === 'reverted') {
      const { changes } = ledger.run('DELETE FROM credits WHERE txid = ? AND n = ?', [data.txid!, n]);
      if (changes !== 1) throw new Error(`${data.txid}:${n} was taken back and never credited`);
      ledger.run('INSERT INTO moves VALUES (?, ?, ?)', [data.txid!, n, -value]);
    }
  }
}

/** Applies a message and stores where to go on, both or neither. */
function book(message: Message): void {
  // Most runs of a test that kills at every step are about events that move something.
  const counted = message.type === 'mempoolUpdate' ? () => {} : step;
  counted();
  ledger.run('BEGIN IMMEDIATE');
  apply(message);
  ledger.run('INSERT OR REPLACE INTO position VALUES (1, ?)', [message.data.cursor!]);
  counted();
  ledger.run('COMMIT');
  counted();
  if (until !== '' && message.data.seq >= Number(until)) process.exit(0);
}

/** Events of the mempool that ended with the node are no credits; a gap of all kinds is not to happen here. */
function checkGap(gap: Message['data'] | null): void {
  if (gap?.scope === 'all') fail(`events of the chain are missing: ${JSON.stringify(gap)}`);
}

function fail(message: unknown): never {
  console.error(message);
  process.exit(4);
}

function followSocket(): Promise<void> {
  return new Promise((resolve) => {
    const socket = new WebSocket(`${url!.replace('http', 'ws')}/ws`, { headers } as unknown as string[]);
    const send = (type: string, data: object) => socket.send(JSON.stringify({ type, id: type, data }));
    socket.onopen = () => {
      send('subscribe', { events: ['newBlock', 'mempoolUpdate'], replace: true });
      send('watch', { addresses: [address] });
      send('resume', { after: position() });
    };
    let resumed = false;
    socket.onmessage = ({ data }) => {
      try {
        const message = JSON.parse(String(data)) as Message & { id?: string };
        if (message.type === 'error') fail(data);
        if (message.type === 'gap') checkGap(message.data);
        if (message.id === 'resume') resumed = true;
        // An event before the reply is behind the end of the log, not behind the position.
        else if (resumed && message.data.cursor !== undefined) book(message);
      } catch (error) {
        fail(error);
      }
    };
    socket.onclose = () => resolve();
  });
}

async function followPages(): Promise<void> {
  for (;;) {
    const types = 'newBlock,mempoolUpdate,addressTransaction';
    const query = `after=${position()}&types=${types}&limit=${PAGE}&wait=10`;
    const response = await fetch(`${url}/api/events?${query}`, { headers });
    if (response.status === 503) return;
    if (response.status !== 200) fail(`${response.status} ${await response.text()}`);
    const page = (await response.json()) as { items: Message[]; lastCursor: string; gap: Message['data'] | null };
    checkGap(page.gap);
    for (const item of page.items) book(item);
    ledger.run('INSERT OR REPLACE INTO position VALUES (1, ?)', [page.lastCursor]);
  }
}

/** Reads the stream of server-sent events, which names the position of each event in its `id`. */
async function followStream(): Promise<void> {
  const last = position();
  const reply = await fetch(`${url}/api/stream?types=newBlock,mempoolUpdate,addressTransaction&after=${after}`, {
    headers: { ...headers, ...(typeof last === 'string' && { 'last-event-id': last }) },
  });
  if (reply.status === 503) return;
  if (reply.status !== 200) fail(`${reply.status} ${await reply.text()}`);
  let text = '';
  const decoder = new TextDecoder();
  for await (const bytes of reply.body!) {
    text += decoder.decode(bytes, { stream: true });
    const parts = text.split('\n\n');
    // The last part is not complete yet.
    text = parts.pop()!;
    for (const part of parts) bookFrame(part);
  }
}

function bookFrame(part: string): void {
  const fields = new Map(part.split('\n').map((line) => line.split(/: (.*)/s, 2) as [string, string]));
  const data = fields.get('data');
  if (data === undefined) {
    // An id alone moves the position.
    const id = fields.get('id');
    if (id !== undefined) ledger.run('INSERT OR REPLACE INTO position VALUES (1, ?)', [id]);
    return;
  }
  const message = JSON.parse(data) as Message;
  if (message.type === 'closed') fail(data);
  if (message.type === 'gap') checkGap(message.data);
  else book(message);
}

/** Applies the events of a delivery that it has not seen, all or none. */
const receive = ledger.transaction((events: readonly Message[]) => {
  for (const message of events) {
    if (message.type === 'gap') checkGap(message.data);
    else if (ledger.run('INSERT OR IGNORE INTO seen VALUES (?)', [message.data.cursor!]).changes === 1) apply(message);
  }
});

function isGenuine(request: Request, body: string): boolean {
  const key = Buffer.from(process.env.HOOK_SECRET!.slice('whsec_'.length), 'base64');
  const signed = `${request.headers.get('webhook-id')}.${request.headers.get('webhook-timestamp')}.${body}`;
  const expected = createHmac('sha256', key).update(signed).digest();
  const given = Buffer.from(request.headers.get('webhook-signature')!.replace('v1,', ''), 'base64');
  return given.length === expected.length && timingSafeEqual(given, expected);
}

function serveDeliveries(): Promise<never> {
  Bun.serve({
    hostname: '127.0.0.1',
    port: Number(process.env.HOOK_PORT),
    async fetch(request) {
      const body = await request.text();
      if (!isGenuine(request, body)) return new Response(null, { status: 401 });
      try {
        receive((JSON.parse(body) as { events: readonly Message[] }).events);
      } catch (error) {
        fail(error);
      }
      return new Response(null, { status: 204 });
    },
  });
  return new Promise(() => {});
}

const FOLLOW = { ws: followSocket, pages: followPages, sse: followStream, webhook: serveDeliveries } as const;

for (;;) {
  try {
    await FOLLOW[way as keyof typeof FOLLOW]();
  } catch (error) {
    // fetch fails with a code where the node is away; what is thrown by the ledger has none, or SQLite's.
    const code = String((error as { code?: unknown }).code ?? '');
    if (code === '' || code.startsWith('SQLITE')) fail(error);
  }
  await Bun.sleep(RETRY_MS);
}
