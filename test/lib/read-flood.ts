import type { Socket } from 'bun';

/** The options of one process of hostile readers, passed as JSON in its argument. */
export interface ReadFloodOptions {
  readonly port: number;
  readonly key: string;
  readonly connections: number;
  /** A path without its limit, which follows and differs from request to request. */
  readonly path: string;
  readonly limits: { readonly least: number; readonly most: number };
}

/** Printed when its standard input ends. */
export interface ReadFloodReport {
  readonly statuses: Readonly<Record<string, number>>;
  readonly lost: number;
}

const LAST_CHUNK = new TextEncoder().encode('0\r\n\r\n');
const RETRY_MS = 20;
/** Printed with the first refusal. */
const REFUSED = 'refused\n';

/** Connections that ask for pages without a pause; they parse as little of the replies as is possible. */
class ReadFlood {
  readonly #options: ReadFloodOptions;
  readonly #onRefusal: () => void;
  readonly #statuses = new Map<number, number>();
  #asked = 0;
  #lost = 0;

  constructor(options: ReadFloodOptions, onRefusal: () => void) {
    this.#options = options;
    this.#onRefusal = onRefusal;
  }

  report(): ReadFloodReport {
    return { statuses: Object.fromEntries(this.#statuses), lost: this.#lost };
  }

  async connect(): Promise<void> {
    let left: number | null = null;
    const lost = () => {
      this.#lost++;
      setTimeout(() => void this.connect(), RETRY_MS);
    };
    await Bun.connect({
      hostname: '127.0.0.1',
      port: this.#options.port,
      socket: {
        open: (socket) => this.#ask(socket),
        data: (socket, data) => {
          if (left === null) left = this.#begin(data);
          else left -= data.length;
          const isChunked = left === Number.POSITIVE_INFINITY;
          if (isChunked ? !endsWith(data, LAST_CHUNK) : left > 0) return;
          left = null;
          this.#ask(socket);
        },
        close: lost,
        error() {},
      },
    }).catch(lost);
  }

  #ask(socket: Socket): void {
    const { path, key, limits } = this.#options;
    const limit = limits.least + (this.#asked++ % (limits.most - limits.least + 1));
    socket.write(`GET ${path}?limit=${limit} HTTP/1.1\r\nhost: localhost\r\nauthorization: Bearer ${key}\r\n\r\n`);
  }

  /** Counts the status; returns how many bytes of the body are still to come, or infinity where they are in chunks. */
  #begin(data: Uint8Array): number {
    const text = new TextDecoder('latin1').decode(data.subarray(0, 2048));
    const status = Number(text.slice(9, 12));
    if (status === 429 && !this.#statuses.has(429)) this.#onRefusal();
    this.#statuses.set(status, (this.#statuses.get(status) ?? 0) + 1);
    const length = /\r\ncontent-length: (\d+)/i.exec(text)?.[1];
    if (length === undefined) return Number.POSITIVE_INFINITY;
    return Number(length) - (data.length - text.indexOf('\r\n\r\n') - 4);
  }
}

function endsWith(data: Uint8Array, end: Uint8Array): boolean {
  return data.length >= end.length && end.every((byte, i) => data[data.length - end.length + i] === byte);
}

/** Hostile readers in a process of their own, so that they do not slow down the client that is measured. */
export class ReadFloodProcess {
  readonly #process;
  readonly #lines: Promise<string>;
  #report: Promise<ReadFloodReport> | null = null;
  /** Resolves when each connection is open and a first request has been refused. */
  readonly refused: Promise<void>;

  constructor(options: ReadFloodOptions) {
    this.#process = Bun.spawn([process.execPath, import.meta.path, JSON.stringify(options)], {
      stdin: 'pipe',
      stdout: 'pipe',
      stderr: 'inherit',
    });
    const refused = Promise.withResolvers<void>();
    this.refused = refused.promise;
    this.#lines = this.#read(refused.resolve);
  }

  stop(): Promise<ReadFloodReport> {
    this.#report ??= this.#stop();
    return this.#report;
  }

  async #stop(): Promise<ReadFloodReport> {
    this.#process.stdin.end();
    const report = JSON.parse((await this.#lines).split('\n').at(-1)!) as ReadFloodReport;
    await this.#process.exited;
    return report;
  }

  async #read(refused: () => void): Promise<string> {
    let text = '';
    for await (const part of this.#process.stdout.pipeThrough(new TextDecoderStream())) {
      text += part;
      if (text.startsWith(REFUSED)) refused();
    }
    return text;
  }
}

if (import.meta.main) {
  const options = JSON.parse(process.argv[2]!) as ReadFloodOptions;
  const flood = new ReadFlood(options, () => process.stdout.write(REFUSED));
  await Promise.all(Array.from({ length: options.connections }, () => flood.connect()));
  await Bun.stdin.text();
  process.stdout.write(JSON.stringify(flood.report()));
  process.exit(0);
}
