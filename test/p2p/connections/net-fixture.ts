import type { Database } from 'bun:sqlite';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { type TcpStream, tcpHandlers } from '../../../src/p2p/connections/byte-stream.ts';
import type { PeerLink, PeerLogic } from '../../../src/p2p/connections/peer-link.ts';
import type { Timing } from '../../../src/p2p/connections/timing.ts';
import type { NetMessage } from '../../../src/p2p/transport/transport.ts';
import { V2Transport } from '../../../src/p2p/transport/v2-transport.ts';
import { openNodeDatabase } from '../../../src/storage/node-database.ts';
import { createLog } from '../../../src/util/log.ts';
import { ManualClock } from '../../lib/manual-clock.ts';
import { MAGIC } from '../../lib/raw-peer.ts';
import { NOW } from '../address/addr-fixture.ts';

const folders: string[] = [];
process.on('exit', () => {
  for (const folder of folders) rmSync(folder, { recursive: true, force: true });
});

/** An empty node.db that exists as long as the process. */
export function emptyDatabase(): Database {
  const folder = mkdtempSync(join(tmpdir(), 'node-db-'));
  folders.push(folder);
  return openNodeDatabase(join(folder, 'node.db'), { network: 'regtest', genesisHash: '00' });
}

/** Resolves after one turn of the event loop. */
const turn = () => new Promise<void>((resolve) => setImmediate(resolve));

export async function turns(count: number): Promise<void> {
  for (let i = 0; i < count; i++) await turn();
}

/** Waits for a condition, limited only by the test's timeout. */
export async function until(condition: () => boolean): Promise<void> {
  for (let i = 0; !condition(); i++) await (i < 100 ? turn() : Bun.sleep(1));
}

/** A clock that advances on request. */
export class ManualTime implements Timing {
  readonly clock = new ManualClock(NOW * 1000);
  readonly #sleepers = new Set<{ readonly at: number; readonly wake: () => void }>();

  readonly sleep = (ms: number, signal?: AbortSignal) =>
    new Promise<void>((resolve, reject) => {
      if (signal?.aborted) return reject(signal.reason);
      const end = () => {
        this.#sleepers.delete(sleeper);
        signal?.removeEventListener('abort', abort);
      };
      const abort = () => {
        end();
        reject(signal!.reason);
      };
      const wake = () => {
        end();
        resolve();
      };
      const sleeper = { at: this.clock.monotonicMs() + ms, wake };
      this.#sleepers.add(sleeper);
      signal?.addEventListener('abort', abort, { once: true });
    });

  /** Number of pending sleeps. */
  get sleeping(): number {
    return this.#sleepers.size;
  }

  /** Advances the clock, waking each sleeper at its time and yielding a few event loop turns. */
  async pass(ms: number): Promise<void> {
    const end = this.clock.monotonicMs() + ms;
    await turns(3);
    for (;;) {
      const due = [...this.#sleepers].filter(({ at }) => at <= end).sort((a, b) => a.at - b.at)[0];
      if (due === undefined) break;
      this.clock.advance(Math.max(0, due.at - this.clock.monotonicMs()));
      due.wake();
      await turns(3);
    }
    this.clock.advance(end - this.clock.monotonicMs());
  }

  /** Advances the clock step by step until a condition holds. */
  async passUntil(condition: () => boolean, stepMs = 250): Promise<void> {
    while (!condition()) {
      await this.pass(stepMs);
      if (!condition()) await Bun.sleep(0);
    }
  }
}

/** Records events, and processes messages as the test defines. */
export class RecordingLogic implements PeerLogic {
  readonly links: PeerLink[] = [];
  readonly events: string[] = [];
  readonly messages: { readonly peer: number; readonly type: string; readonly payload: Uint8Array }[] = [];
  readonly #handle: (link: PeerLink, message: NetMessage) => void | Promise<void>;

  constructor(handle: (link: PeerLink, message: NetMessage) => void | Promise<void> = () => {}) {
    this.#handle = handle;
  }

  opened(link: PeerLink): void {
    this.links.push(link);
    this.events.push(`opened ${link.id}`);
  }

  message(link: PeerLink, message: NetMessage): void | Promise<void> {
    this.messages.push({ peer: link.id, type: message.type, payload: message.payload });
    return this.#handle(link, message);
  }

  closed(link: PeerLink, reason: string): void {
    this.events.push(`closed ${link.id} ${reason}`);
  }

  types(peer?: number): string[] {
    return this.messages.filter((message) => peer === undefined || message.peer === peer).map(({ type }) => type);
  }
}

/** A log kept in memory; `lines` have no time. */
export function memoryLog() {
  let text = '';
  const write = (bytes: Uint8Array) => {
    text += new TextDecoder().decode(bytes);
    return bytes.length;
  };
  const log = createLog({ level: 'debug', format: 'text', write });
  const lines = () => {
    log.flush();
    return text.split('\n').map((line) => line.slice(24));
  };
  return { log, errors: () => lines().filter((line) => line.startsWith('ERROR')), lines };
}

export const v2 = (initiating: boolean) => new V2Transport({ initiating, magic: MAGIC });

/** Listens on a free port of this machine for tests that act as a node; must be stopped. */
export function listener(accepted: (stream: TcpStream) => void, hostname = '127.0.0.1') {
  const streams: TcpStream[] = [];
  const server = Bun.listen<TcpStream>({
    hostname,
    port: 0,
    socket: tcpHandlers((stream) => {
      streams.push(stream);
      accepted(stream);
    }),
  });
  const stop = () => {
    for (const stream of streams) stream.close();
    server.stop(true);
  };
  return { port: server.port, streams, stop };
}
