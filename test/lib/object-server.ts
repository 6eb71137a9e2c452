import { join } from 'node:path';
import { poll, tempDir } from './node-process.ts';

const KEY = 'S3RVER';

interface ObjectServerOptions {
  /** That of an earlier server, whose objects it has; a new one where absent. */
  readonly directory?: string;
  /** The process dies at the request of this method and number for a part of a file. */
  readonly killAt?: readonly [method: 'GET' | 'PUT', number: number];
}

/** A process with an S3 server, whose bucket is `snapshots`. */
export class ObjectServer implements AsyncDisposable {
  readonly directory: string;
  port = 0;
  readonly #requests: string[] = [];
  readonly #child;

  private constructor({ directory = tempDir('objects'), killAt }: ObjectServerOptions) {
    this.directory = directory;
    const program = join(import.meta.dir, 'object-server-process.ts');
    const args = [directory, 'snapshots', ...(killAt ?? []).map(String)];
    this.#child = Bun.spawn([process.execPath, program, ...args], {
      stdin: 'pipe',
      stdout: 'pipe',
      stderr: 'inherit',
    });
  }

  static async start(options: ObjectServerOptions = {}): Promise<ObjectServer> {
    const server = new ObjectServer(options);
    const { promise, resolve, reject } = Promise.withResolvers<void>();
    void server.#readLines(resolve).then(() => reject(new Error('the object server has ended')));
    await promise;
    return server;
  }

  get url(): string {
    return `http://127.0.0.1:${this.port}`;
  }

  /** The environment of a program that uses the server. */
  get env(): Record<string, string> {
    return { S3_ENDPOINT: this.url, S3_ACCESS_KEY_ID: KEY, S3_SECRET_ACCESS_KEY: KEY };
  }

  /** Resolves when the process has ended. */
  get exited(): Promise<number> {
    return this.#child.exited;
  }

  /** Returns the path of the file in which the server keeps an object. */
  fileOf(key: string): string {
    return join(this.directory, 'snapshots', `${key}._S3rver_object`);
  }

  /** Returns `METHOD KEY` of the requests since the last call. */
  async newRequests(): Promise<string[]> {
    // The lines arrive later than the replies: this request has the last one.
    const last = `GET /${crypto.randomUUID()}`;
    await (await fetch(this.url + last.slice(4))).text();
    await poll('the last request', () => this.#requests.includes(last), { everyMs: 5 });
    const all = this.#requests.splice(0).filter((line) => line !== last);
    return all.map((line) => line.replace(' /snapshots/', ' '));
  }

  /** Returns the keys that were written since the last call. */
  async writtenKeys(): Promise<string[]> {
    return (await this.newRequests()).flatMap((line) => (line.startsWith('PUT ') ? [line.slice(4)] : []));
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#child.kill('SIGKILL');
    await this.#child.exited;
  }

  async #readLines(onPort: () => void): Promise<void> {
    let text = '';
    const decoder = new TextDecoder();
    for await (const chunk of this.#child.stdout) {
      text += decoder.decode(chunk, { stream: true });
      const lines = text.split('\n');
      text = lines.pop()!;
      for (const line of lines) {
        if (!line.startsWith('port ')) this.#requests.push(line);
        else {
          this.port = Number(line.slice(5));
          onPort();
        }
      }
    }
  }
}
