// What an exchange runs: it follows the deposits to one address in a ledger of its own, and goes on after the last event
// that it has booked. `url key ledger address after until dieAt`: it begins behind the event `after`, ends itself at the
// dieAt-th step, as kill -9 would, and ends well when all up to the mempoolUpdate numbered `until` is booked.
import { Database } from 'bun:sqlite';

const [url, key, path, address, after, until, dieAt] = process.argv.slice(2);

interface Message {
  readonly type: string;
  readonly data: {
    readonly seq: number;
    readonly sub?: number;
    readonly scope?: string;
    readonly phase?: string;
    readonly txid?: string;
    readonly outputs?: readonly { n: number; value: number }[];
  };
}

const ledger = new Database(path!, { create: true });
ledger.run('PRAGMA journal_mode = WAL');
ledger.run('CREATE TABLE IF NOT EXISTS booked (seq INTEGER, sub INTEGER, PRIMARY KEY (seq, sub))');
// A second credit for the same output is an error.
ledger.run('CREATE TABLE IF NOT EXISTS credits (txid TEXT, n INTEGER, value INTEGER, PRIMARY KEY (txid, n))');
ledger.run('CREATE TABLE IF NOT EXISTS moves (txid TEXT, n INTEGER, amount INTEGER)');
const last = ledger.query<{ seq: number | null }, []>('SELECT max(seq) AS seq FROM booked').get()!.seq;

const known = ledger.query('SELECT 1 FROM booked WHERE seq = ? AND sub = ?');

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

function book(message: Message): void {
  const { seq, sub = 0 } = message.data;
  if (known.get(seq, sub)) return;
  step();
  ledger.run('BEGIN');
  ledger.run('INSERT INTO booked VALUES (?, ?)', [seq, sub]);
  apply(message);
  step();
  ledger.run('COMMIT');
  step();
}

const socket = new WebSocket(url!, { headers: { authorization: `Bearer ${key}` } } as unknown as string[]);
socket.onopen = () => {
  const send = (type: string, data: object) => socket.send(JSON.stringify({ type, id: type, data }));
  send('subscribe', { events: ['newBlock', 'mempoolUpdate'], replace: true });
  // An event may have had others with the same number behind it.
  send('watch', { addresses: [address], confirmations: [1] });
  send('resume', { after: last === null ? Number(after) : last - 1 });
};
socket.onmessage = ({ data }) => {
  const message = JSON.parse(String(data)) as Message;
  if (message.type === 'error' || (message.type === 'gap' && message.data.scope === 'all'))
    throw new Error(String(data));
  if (message.type === 'newBlock' || message.type === 'addressTransaction') book(message);
  else if (message.type === 'mempoolUpdate' && message.data.seq >= Number(until)) process.exit(0);
};
socket.onclose = () => process.exit(3);
