import { mkdirSync } from 'node:fs';
import { join } from 'node:path';
import { AuthStore } from '../../src/auth/auth-store.ts';
import { issueKey } from '../../src/auth/issue-key.ts';
import { basicAuth, rpcauthLine } from '../lib/basic-auth.ts';
import { type NodeProcess, startNode, tempDir } from '../lib/node-process.ts';
import { tlsFlags } from '../lib/self-signed.ts';
import type { Proof, ProofResult } from './proof.ts';

/** Parallel requests of the hostile client: passwords of HTTP Basic, and texts for OBVERSE_API_KEY. */
const BASIC_GUESSERS = 72;
const KEY_GUESSERS = 24;
const GUESSES_A_SECOND = 10;
const GUESSES_A_SECOND_IN_ALL = 64;
const REFUSAL_MS = 250;
const OTHER_ADDRESS_MS = 1000;
/**
 * Limits of median and maximum of requests that do not queue behind guesses, beyond those of /healthz at the same time,
 * milliseconds.
 */
const PASSING_MS = { median: 100, slowest: 1500 };
/** A call takes several iterations of the event loops of node and client; /healthz takes one. */
const TURNS = 3;
/** Time in which the hostile address itself gets a slot for a right password that it repeats, milliseconds. */
const ENOUGH_MS = 10_000;
const HOSTILE_ADDRESSES = 20;
const CALL = JSON.stringify({ jsonrpc: '2.0', id: 1, method: 'getblockcount' });

/** Requests of the hostile client until its last reply. */
interface Guesses {
  readonly replies: readonly Reply[];
  readonly compared: number;
  readonly seconds: number;
}

interface Reply {
  readonly status: number;
  readonly ms: number;
}

/**
 * One address, then many, guess passwords without a pause. The node's own comparisons are counted. Meanwhile keys, a
 * client with a right password in use, and right passwords from other addresses must be served.
 */
export const passwordGuesses: Proof = {
  help: 'wrong passwords are compared at a fixed rate while right ones pass; counts seconds over HTTP, and over TLS',
  count: 60,
  async run(count, _seed, signal, progress) {
    const figures: ProofResult['figures'][number][] = [];
    const violations: string[] = [];
    for (const scheme of ['http', 'https'] as const) {
      progress?.(`${scheme}: ${count} s`);
      const result = await guessPasswords(scheme, count, signal);
      figures.push(...result.figures.map(([name, value]) => [`${scheme}: ${name}`, value] as const));
      violations.push(...result.violations.map((text) => `${scheme}: ${text}`));
    }
    return { figures, violations };
  },
};

/** Runs the proof for one scheme. */
export async function guessPasswords(
  scheme: 'http' | 'https',
  seconds: number,
  signal: AbortSignal,
): Promise<ProofResult> {
  const datadir = tempDir('guesses');
  mkdirSync(join(datadir, 'regtest'), { recursive: true, mode: 0o700 });
  const store = new AuthStore(join(datadir, 'regtest', 'auth.db'));
  const { key } = issueKey(store, { label: 'test', scopes: ['read', 'metrics'] }, Math.floor(Date.now() / 1000));
  store.close();
  // Each password is right for the first time when it is used, since a password that was right before never waits.
  const users = Array.from({ length: seconds * 4 }, (_, i) => `user${i}`);
  const node = await startNode({
    datadir,
    args: [
      '--wallet.enabled=false',
      '--http.trustedProxies=127.0.0.1',
      ...['alice', 'bob', 'carol', 'polled', ...users].map((user) => `--rpcauth=${rpcauthLine(user, `of ${user}`)}`),
      ...(scheme === 'https' ? tlsFlags(datadir) : []),
    ],
  });
  try {
    return await new Attack(node, key, seconds, signal).run(users);
  } finally {
    await node.stop();
  }
}

class Attack {
  readonly #url: string;
  readonly #key: string;
  readonly #ms: number;
  readonly #signal: AbortSignal;
  readonly #violations: string[] = [];

  constructor(node: NodeProcess, key: string, seconds: number, signal: AbortSignal) {
    this.#url = node.api.url;
    this.#key = key;
    this.#ms = seconds * 1000;
    this.#signal = signal;
  }

  async run(users: readonly string[]): Promise<ProofResult> {
    const polled = basicAuth('polled:of polled');
    this.#expectAll('a right password', [await this.#post(polled)], 1000);
    const one = await this.#hostile(() => ({}));
    const health = this.#repeat(20, () => this.#health());
    const keys = this.#repeat(50, () => this.#post(`Bearer ${this.#key}`));
    const inUse = this.#repeat(20, () => this.#post(polled));
    const others = this.#repeat(250, (i) =>
      this.#post(basicAuth(`${users[i]}:of ${users[i]}`), { 'x-forwarded-for': `198.51.100.${1 + (i % 250)}` }),
    );
    const same = this.#post(basicAuth('bob:of bob'));
    const competing = this.#untilAdmitted(basicAuth('alice:of alice'));
    const guesses = await one.ended();
    // A slow machine delays these replies equally, so only the difference is due to the node.
    const machine = timesOf(await health);
    this.#expectPassing('a key', await keys, machine);
    this.#expectPassing('a password in use', await inUse, machine);
    this.#expectAll('a right password from another address', await others, OTHER_ADDRESS_MS + machine.slowest);
    this.#expectAll('a right password of another user from the hostile address', [await same], 4000 + machine.slowest);
    this.#expectRate('one address', guesses, GUESSES_A_SECOND);

    const many = await this.#hostile((i) => ({ 'x-forwarded-for': `203.0.113.${i % HOSTILE_ADDRESSES}` }));
    const later = this.#repeat(20, () => this.#health());
    const last = await this.#post(basicAuth('carol:of carol'), { 'x-forwarded-for': '192.0.2.1' });
    const all = await many.ended();
    const { slowest } = timesOf(await later);
    this.#expectAll(`a right password beside ${HOSTILE_ADDRESSES} hostile addresses`, [last], 2000 + slowest);
    this.#expectRate('all addresses', all, GUESSES_A_SECOND_IN_ALL);
    const rate = ({ compared, seconds }: Guesses) => (compared / seconds).toFixed(1);
    return {
      figures: [
        ['requests with a wrong password, one address', guesses.replies.length],
        ['compared a second, one address', rate(guesses)],
        [`requests with a wrong password, ${HOSTILE_ADDRESSES} addresses`, all.replies.length],
        [`compared a second, ${HOSTILE_ADDRESSES} addresses`, rate(all)],
        ['fastest refusal, ms', fastest(guesses.replies)],
        ['key beside it, p50 and slowest, ms', spread(await keys)],
        ['password in use, p50 and slowest, ms', spread(await inUse)],
        ['right password, other address, p50 and slowest, ms', spread(await others)],
        ['right password, same address, other user, ms', Math.round((await same).ms)],
        ['right password, same address and user: tries and seconds until one is compared', await competing],
        [`right password beside ${HOSTILE_ADDRESSES} hostile addresses, ms`, Math.round(last.ms)],
      ],
      violations: this.#violations,
    };
  }

  /** Guesses until the time is over, and counts the comparisons of the node meanwhile. */
  async #hostile(headersOf: (guesser: number) => Record<string, string>) {
    const before = await this.#compared();
    const from = performance.now();
    const until = from + this.#ms;
    const replies: Reply[] = [];
    const guess = async (guesser: number) => {
      for (let i = 0; performance.now() < until && !this.#signal.aborted; i++) {
        const text = `wrong ${guesser} ${i} ${this.#ms} ${until}`;
        const authorization = guesser < BASIC_GUESSERS ? basicAuth(`alice:${text}`) : `Bearer ${btoa(text)}`;
        const reply = await this.#post(authorization, headersOf(guesser));
        replies.push(reply);
        if (reply.status !== 401 && reply.status !== 429)
          this.#violations.push(`a wrong password was answered with ${reply.status}`);
        if (reply.ms < REFUSAL_MS - 5) this.#violations.push(`a refusal came after ${Math.round(reply.ms)} ms`);
      }
    };
    const guessers = Array.from({ length: BASIC_GUESSERS + KEY_GUESSERS }, (_, i) => guess(i));
    return {
      ended: async (): Promise<Guesses> => {
        await Promise.all(guessers);
        this.#signal.throwIfAborted();
        const compared = (await this.#compared()) - before;
        return { replies, compared, seconds: (performance.now() - from) / 1000 };
      },
    };
  }

  /** Repeats a request for the time of the attack, at equal distances; the last replies may come later. */
  async #repeat(everyMs: number, ask: (i: number) => Promise<Reply>): Promise<Reply[]> {
    const replies: Promise<Reply>[] = [];
    for (let i = 0; i * everyMs < this.#ms; i++) {
      replies.push(ask(i));
      await Bun.sleep(everyMs);
    }
    return Promise.all(replies);
  }

  /** Repeats a request beside the attack until it is admitted, which needs some seconds. */
  async #untilAdmitted(authorization: string): Promise<string> {
    const from = performance.now();
    for (let tries = 1; performance.now() - from < this.#ms && !this.#signal.aborted; tries++)
      if ((await this.#post(authorization)).status === 200)
        return `${tries} / ${((performance.now() - from) / 1000).toFixed(1)}`;
    if (this.#ms >= ENOUGH_MS) this.#violations.push('a right password of the guessed user was never compared');
    return 'none was';
  }

  async #health(): Promise<Reply> {
    const from = performance.now();
    const reply = await fetch(`${this.#url}/healthz`, { tls: { rejectUnauthorized: false } });
    await reply.text();
    return { status: reply.status, ms: performance.now() - from };
  }

  async #post(authorization: string, headers: Record<string, string> = {}): Promise<Reply> {
    const from = performance.now();
    const reply = await fetch(this.#url, {
      method: 'POST',
      body: CALL,
      headers: { authorization, ...headers },
      signal: AbortSignal.timeout(20_000),
      tls: { rejectUnauthorized: false },
    });
    await reply.text();
    return { status: reply.status, ms: performance.now() - from };
  }

  /** Returns the wrong passwords that the node has compared since its start. */
  async #compared(): Promise<number> {
    const headers = { authorization: `Bearer ${this.#key}` };
    const reply = await fetch(`${this.#url}/metrics`, { headers, tls: { rejectUnauthorized: false } });
    const text = await reply.text();
    return Number(/^obverse_auth_passwords_total\{.*result="wrong".*\} (\d+)$/m.exec(text)?.[1] ?? 0);
  }

  #expectAll(what: string, replies: readonly Reply[], limitMs: number): void {
    const bad = replies.filter(({ status }) => status !== 200);
    if (bad.length > 0) this.#violations.push(`${what} was refused ${bad.length} times of ${replies.length}`);
    const slow = replies.filter(({ ms }) => ms > limitMs);
    if (slow.length > 0) this.#violations.push(`${what} took more than ${limitMs} ms ${slow.length} times`);
  }

  #expectPassing(what: string, replies: readonly Reply[], machine: Times): void {
    this.#expectAll(what, replies, PASSING_MS.slowest + machine.slowest);
    const { median } = timesOf(replies);
    if (median > PASSING_MS.median + TURNS * machine.median)
      this.#violations.push(`${what} took ${median.toFixed(1)} ms in the median`);
  }

  /** Under attack the schedule is never idle, so there is a lower bound as well. */
  #expectRate(what: string, { compared, seconds }: Guesses, aSecond: number): void {
    if (compared > aSecond * seconds + 1)
      this.#violations.push(`${what}: ${compared} passwords were compared in ${seconds.toFixed(1)} s`);
    if (compared < (aSecond * seconds) / 2)
      this.#violations.push(`${what}: only ${compared} passwords were compared in ${seconds.toFixed(1)} s`);
  }
}

function fastest(replies: readonly Reply[]): number {
  return Math.round(Math.min(...replies.map(({ ms }) => ms)));
}

interface Times {
  readonly median: number;
  readonly slowest: number;
}

function timesOf(replies: readonly Reply[]): Times {
  const times = replies.map(({ ms }) => ms).sort((a, b) => a - b);
  return { median: times[times.length >> 1]!, slowest: times.at(-1)! };
}

function spread(replies: readonly Reply[]): string {
  const { median, slowest } = timesOf(replies);
  return `${median.toFixed(1)} / ${slowest.toFixed(1)}`;
}
