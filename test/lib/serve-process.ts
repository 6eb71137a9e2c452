import { ApiClient } from './node-client.ts';
import { Program, type ProgramOptions, TEST_KEY } from './node-process.ts';

export interface ServeOptions extends ProgramOptions {
  /** URL of the database. */
  readonly url: string;
  readonly args?: readonly string[];
  /** 0 lets the system choose. */
  readonly port?: number;
}

/** A `serve` of the program with a client for its API. */
export class ServeProcess extends Program {
  #api: ApiClient | null = null;

  constructor({ url, args = [], port = 0, env, ...options }: ServeOptions) {
    super(
      [
        ...['serve', `--http.listen=127.0.0.1:${port}`],
        ...['--http.limits.publicRate=100000', '--http.limits.publicBurst=100000', ...args],
      ],
      { ...options, env: { OBVERSE_SERVE_FROM: url, OBVERSE_API_KEY: TEST_KEY, ...env } },
    );
  }

  get api(): ApiClient {
    if (!this.#api) throw new Error(`the server has not printed its address: ${this.describe()}`);
    return this.#api;
  }

  /** Waits until the server listens. */
  async listening(): Promise<this> {
    const [, url] = await this.output('stderr', /"msg":"listening".*"url":"([^"]+)"/);
    this.#api = new ApiClient(url!, TEST_KEY);
    return this;
  }

  /** Waits until the server answers all its routes. */
  async ready(): Promise<this> {
    await this.listening();
    await this.output('stderr', /"msg":"ready"/);
    return this;
  }
}

/** Starts a server and waits until it answers. */
export function startServe(options: ServeOptions): Promise<ServeProcess> {
  return new ServeProcess(options).ready();
}
