import { sleep } from './abort.ts';
import { OperatorError } from './operator-error.ts';

/** A bucket of S3, or of a server with the same interface, and the prefix of all keys in it. */
export interface ObjectPlace {
  readonly bucket: string;
  /** Without slashes at its ends; may be empty. */
  readonly prefix: string;
}

/** How the server is reached. */
export interface ObjectAccess {
  /** URL of the server; null for that of Amazon. */
  readonly endpoint: string | null;
  readonly region: string;
  readonly accessKeyId: string;
  readonly secretAccessKey: string;
  readonly sessionToken: string | null;
}

/** Receives an object as it arrives. */
export interface ObjectSink {
  /** Called before the first byte, and again when the object is requested again. */
  start(): void;
  /** Returns false where the object is longer than it may be. */
  write(bytes: Uint8Array): boolean;
  /** Returns whether the object has the right content. */
  finish(): boolean;
}

/** Limits of requests. */
export interface RequestLimits {
  /** Time limit of a request without content, milliseconds. */
  readonly quickMs: number;
  /** Time limit of a request that moves an object, milliseconds. */
  readonly transferMs: number;
  /** Number of times that a request is sent where the server or the network fails. */
  readonly attempts: number;
  /** Time before the second attempt, milliseconds; it doubles with each further one. */
  readonly pauseMs: number;
}

const REQUEST_LIMITS: RequestLimits = { quickMs: 60_000, transferMs: 600_000, attempts: 5, pauseMs: 500 };
/** Number of times that an object is requested where its content is wrong: the network may have damaged it. */
const CONTENT_ATTEMPTS = 2;
/** Seconds for which the signature of a request is valid. A clock may differ by some minutes. */
const SIGNATURE_SECONDS = 3600;
const TRANSIENT: ReadonlySet<number> = new Set([408, 425, 429, 500, 502, 503, 504]);
const ERROR_BODY_BYTES = 4096;

interface Exchange {
  readonly method: 'GET' | 'HEAD' | 'PUT';
  readonly key: string;
  readonly body?: Uint8Array<ArrayBuffer>;
  readonly limitMs: number;
  readonly signal: AbortSignal;
}

/** A failure for which the request is sent again. */
class TransientFailure {
  readonly text: string;

  constructor(text: string) {
    this.text = text;
  }
}

/** An error of the sink, which is no failure of the server. */
class SinkFailure {
  readonly cause: unknown;

  constructor(cause: unknown) {
    this.cause = cause;
  }
}

/**
 * Reads and writes objects. The client of the runtime signs the requests; they are sent by `fetch`, which has a time limit
 * and ends on a signal. Errors are OperatorErrors and hold no part of a signed URL.
 */
export class ObjectStore {
  /** `s3://bucket/prefix` */
  readonly name: string;
  readonly #place: ObjectPlace;
  readonly #access: ObjectAccess;
  readonly #client: Bun.S3Client;
  readonly #limits: RequestLimits;

  constructor(place: ObjectPlace, access: ObjectAccess, limits: RequestLimits = REQUEST_LIMITS) {
    const { bucket, prefix } = place;
    const { endpoint, region, accessKeyId, secretAccessKey, sessionToken } = access;
    this.name = `s3://${bucket}${prefix === '' ? '' : `/${prefix}`}`;
    this.#place = place;
    this.#access = access;
    this.#limits = limits;
    this.#client = new Bun.S3Client({
      bucket,
      region,
      accessKeyId,
      secretAccessKey,
      ...(endpoint !== null && { endpoint }),
      ...(sessionToken !== null && { sessionToken }),
    });
  }

  /** Returns the size of an object; null where it does not exist. */
  async sizeOf(key: string, signal: AbortSignal): Promise<number | null> {
    const limitMs = this.#limits.quickMs;
    return this.#exchange({ method: 'HEAD', key, limitMs, signal }, async (response) =>
      response.status === 404 ? null : Number(response.headers.get('content-length')),
    );
  }

  /** Writes an object, which replaces an earlier one as a whole. */
  async putObject(key: string, body: Uint8Array<ArrayBuffer>, signal: AbortSignal): Promise<void> {
    const limitMs = this.#limits.transferMs;
    await this.#exchange({ method: 'PUT', key, body, limitMs, signal }, async (response) => {
      if (response.status === 404) throw this.#refusal(key, response.status, await errorCode(response));
      await response.body?.cancel();
    });
  }

  /** Reads an object into a sink. Errors of the sink are thrown as they are. */
  async readObject(key: string, sink: ObjectSink, signal: AbortSignal): Promise<'read' | 'missing' | 'wrong'> {
    const limitMs = this.#limits.transferMs;
    for (let attempt = 1; ; attempt++) {
      const result = await this.#exchange({ method: 'GET', key, limitMs, signal }, async (response) => {
        if (response.status !== 404) return receiveBody(response, sink);
        const code = await errorCode(response);
        if (code === 'NoSuchBucket') throw this.#refusal(key, response.status, code);
        return 'missing';
      });
      if (result !== 'wrong' || attempt === CONTENT_ATTEMPTS) return result;
    }
  }

  /** Sends a request, again where it fails for a cause that may pass. `read` gets replies of success and those of 404. */
  async #exchange<T>(exchange: Exchange, read: (response: Response) => Promise<T>): Promise<T> {
    const { attempts, pauseMs } = this.#limits;
    for (let attempt = 1; ; attempt++) {
      exchange.signal.throwIfAborted();
      try {
        return await this.#sendOnce(exchange, read);
      } catch (error) {
        exchange.signal.throwIfAborted();
        if (error instanceof SinkFailure) throw error.cause;
        if (!(error instanceof TransientFailure)) throw error;
        if (attempt === attempts)
          throw new OperatorError(`${this.#nameOf(exchange.key)}: ${error.text}, in ${attempts} attempts`);
      }
      await sleep(pauseMs * 2 ** (attempt - 1), exchange.signal);
    }
  }

  async #sendOnce<T>(
    { method, key, body, limitMs, signal }: Exchange,
    read: (response: Response) => Promise<T>,
  ): Promise<T> {
    const url = this.#client.presign(this.#keyOf(key), { method, expiresIn: SIGNATURE_SECONDS });
    const limit = AbortSignal.timeout(limitMs);
    try {
      const response = await fetch(url, {
        method,
        signal: AbortSignal.any([signal, limit]),
        // A redirect would lead the signed request to another server.
        redirect: 'manual',
        ...(body && { body }),
      });
      const { status } = response;
      if (status === 200 || status === 404) return await read(response);
      const code = await errorCode(response);
      if (TRANSIENT.has(status))
        throw new TransientFailure(`the server answers with HTTP ${status}${inBrackets(code)}`);
      throw this.#refusal(key, status, code);
    } catch (error) {
      if (isSettled(error)) throw error;
      throw new TransientFailure(
        limit.aborted ? `the server has not answered within ${limitMs / 1000} s` : this.#networkProblem(error),
      );
    }
  }

  #networkProblem(error: unknown): string {
    const { code } = error as NodeJS.ErrnoException;
    return `${this.#access.endpoint ?? 'the server'} cannot be reached${typeof code === 'string' ? ` (${code})` : ''}`;
  }

  #refusal(key: string, status: number, code: string): OperatorError {
    const place = this.#nameOf(key);
    if (code === 'NoSuchBucket') return new OperatorError(`s3://${this.#place.bucket}: the bucket does not exist`);
    if (status === 403)
      return new OperatorError(
        `${place}: access is denied${inBrackets(code)}: check the access key, its secret and the region; the key needs s3:GetObject, s3:ListBucket and, for a push, s3:PutObject`,
      );
    const isElsewhere = (status >= 300 && status < 400) || /Region|Authorization|Redirect/.test(code);
    const advice = isElsewhere ? ': name the region of the bucket with --region, or its server with --endpoint' : '';
    return new OperatorError(`${place}: the server answers with HTTP ${status}${inBrackets(code)}${advice}`);
  }

  #keyOf(key: string): string {
    return this.#place.prefix === '' ? key : `${this.#place.prefix}/${key}`;
  }

  #nameOf(key: string): string {
    return `s3://${this.#place.bucket}/${this.#keyOf(key)}`;
  }
}

/** Whether an error of `sendOnce` is one that it has made, or one of the sink. */
function isSettled(error: unknown): boolean {
  return error instanceof OperatorError || error instanceof TransientFailure || error instanceof SinkFailure;
}

async function receiveBody(response: Response, sink: ObjectSink): Promise<'read' | 'wrong'> {
  callSink(() => sink.start());
  // The loop cancels the body when it is left.
  for await (const chunk of response.body ?? []) if (!callSink(() => sink.write(chunk))) return 'wrong';
  return callSink(() => sink.finish()) ? 'read' : 'wrong';
}

function callSink<T>(call: () => T): T {
  try {
    return call();
  } catch (cause) {
    throw new SinkFailure(cause);
  }
}

/** Returns the code of an error reply, and nothing else of it: it repeats parts of the request. */
async function errorCode(response: Response): Promise<string> {
  let text = '';
  const decoder = new TextDecoder();
  for await (const chunk of response.body ?? []) {
    text += decoder.decode(chunk, { stream: true });
    if (text.length >= ERROR_BODY_BYTES) break;
  }
  return /<Code>([A-Za-z0-9]{1,60})<\/Code>/.exec(text)?.[1] ?? '';
}

function inBrackets(code: string): string {
  return code === '' ? '' : ` (${code})`;
}
