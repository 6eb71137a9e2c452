import { appendFileSync, mkdirSync, readdirSync, statSync } from 'node:fs';
import { join } from 'node:path';
import type { Clock } from '../../util/clock.ts';
import type { Log } from '../../util/log.ts';
import { printService } from '../address/address-text.ts';
import type { Direction } from './connection.ts';
import type { PeerLink } from './peer-link.ts';

const TYPE_SIZE = 12;
/** Bytes in front of each payload: the time, the type and the length. */
const HEADER_SIZE = 8 + TYPE_SIZE + 4;
/** Bytes that a file counts beyond its content: many short connections need many files and folders. */
const FILE_SIZE = 8192;

/** The folder of captured messages, below that of the network, and its limit. */
export interface CaptureOptions {
  readonly dir: string;
  /** Size of all files together, bytes. */
  readonly limit: number;
}

/**
 * Writes the messages of peers to files, to find out what happened on a connection. The format is that of Core's
 * -capturemessages: a folder for each address and port, with `msgs_recv.dat` and `msgs_sent.dat`. A message is the time in
 * microseconds of the Unix time (8 bytes, little-endian), its type with zeros up to 12 bytes, the length of the payload (4
 * bytes, little-endian), and the payload. A received message is written when it is processed.
 */
export class MessageCapture {
  readonly #dir: string;
  readonly #limit: number;
  readonly #clock: Clock;
  readonly #log: Log;
  /** Files that exist, by their paths; as many as the limit of bytes allows. */
  readonly #files = new Set<string>();
  /** Bytes used; null after the end of the capture. */
  #used: number | null = 0;

  /** Counts the files of earlier runs, which are kept and count against the limit. */
  constructor({ dir, limit }: CaptureOptions, { clock, log }: { readonly clock: Clock; readonly log: Log }) {
    this.#dir = dir;
    this.#limit = limit;
    this.#clock = clock;
    this.#log = log;
    this.#guarded(() => {
      mkdirSync(dir, { recursive: true, mode: 0o700 });
      for (const name of readdirSync(dir, { recursive: true, encoding: 'utf8' })) {
        const stats = statSync(join(dir, name));
        if (!stats.isFile()) continue;
        this.#files.add(join(dir, name));
        this.#used! += FILE_SIZE + stats.size;
      }
      log.warn('messages of peers are captured', { dir, usedBytes: this.#used, limitBytes: limit });
    });
  }

  /** Appends a message to the file of its peer and direction, unless the capture has ended. */
  record({ service }: Pick<PeerLink, 'service'>, direction: Direction, type: string, payload: Uint8Array): void {
    if (this.#used === null) return;
    // Names of folders on Windows have no colon.
    const folder = join(this.#dir, printService(service).replaceAll(':', '_'));
    const file = join(folder, direction === 'received' ? 'msgs_recv.dat' : 'msgs_sent.dat');
    const isNew = !this.#files.has(file);
    const used = this.#used + HEADER_SIZE + payload.length + (isNew ? FILE_SIZE : 0);
    if (used > this.#limit) {
      this.#used = null;
      this.#log.warn('the capture of messages has ended at its limit', { limitBytes: this.#limit });
      return;
    }
    this.#guarded(() => {
      if (isNew) mkdirSync(folder, { recursive: true, mode: 0o700 });
      appendFileSync(file, record(this.#clock.nowMs(), type, payload), { mode: 0o600 });
      this.#files.add(file);
      this.#used = used;
    });
  }

  /** A disk that fails ends the capture, which the node does not depend on. */
  #guarded(work: () => void): void {
    try {
      work();
    } catch (error) {
      this.#used = null;
      this.#log.error('the capture of messages has ended at an error', { error });
    }
  }
}

function record(nowMs: number, type: string, payload: Uint8Array): Uint8Array {
  const bytes = new Uint8Array(HEADER_SIZE + payload.length);
  const view = new DataView(bytes.buffer);
  view.setBigInt64(0, BigInt(Math.floor(nowMs * 1000)), true);
  for (let i = 0; i < Math.min(TYPE_SIZE, type.length); i++) bytes[8 + i] = type.charCodeAt(i);
  view.setUint32(8 + TYPE_SIZE, payload.length, true);
  bytes.set(payload, HEADER_SIZE);
  return bytes;
}
