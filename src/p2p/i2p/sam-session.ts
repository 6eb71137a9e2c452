import type { Log } from '../../util/log.ts';
import { readPrivateFile, writePrivateFile } from '../../util/private-file.ts';
import { I2P_PORT, printAddress, printService } from '../address/address-text.ts';
import type { NetService } from '../address/net-address.ts';
import { type Dial, DialError, type DialTarget, targetText } from '../connections/dial.ts';
import { LineStream } from '../connections/line-stream.ts';
import type { Timing } from '../connections/timing.ts';
import { I2pStream } from './i2p-stream.ts';
import {
  addressOfDestination,
  addressOfPeerLine,
  decodeI2pBase64,
  destinationOf,
  encodeI2pBase64,
  parseSamReply,
} from './sam-reply.ts';

/** Maximum length of a line, bytes; destinations have about 520. */
const MAX_LINE = 65_536;
/** Maximum size of a private key, bytes. */
const MAX_KEY = 16_384;
/** Time limit of a reply, milliseconds: the router may have to search the network. */
const REPLY_TIMEOUT_MS = 180_000;
/** EdDSA_SHA512_Ed25519, by its number: old routers do not know the name. */
const SIGNATURE_TYPE = 7;
/** Results that say nothing about the router. */
const PEER_FAILURES: readonly string[] = ['CANT_REACH_PEER', 'TIMEOUT'];

export interface SamParts {
  /** SAM port of an I2P router. */
  readonly sam: DialTarget;
  readonly dial: Dial;
  readonly timing: Timing;
  readonly log: Log;
}

/** A session that exists: its control connection, on whose end the router removes it. */
interface OpenSession {
  readonly id: string;
  readonly own: NetService;
  readonly control: LineStream;
}

/**
 * A session at an I2P router (SAM 3.1), which has an address on I2P: a lasting one whose key is in a file, or a new one.
 * It is made when it is needed, and again when the router has closed it. Core's i2p::sam::Session.
 */
export class SamSession {
  readonly #parts: SamParts;
  /** Null for a new address. */
  readonly #keyFile: string | null;
  #opening: Promise<OpenSession> | null = null;
  #open: OpenSession | null = null;

  constructor(keyFile: string | null, parts: SamParts) {
    this.#keyFile = keyFile;
    this.#parts = parts;
  }

  /**
   * Connects to a peer. Rejects with DialError, or with the signal's reason. SAM 3.1 has no ports, so an address with one
   * is refused.
   */
  async connect(to: NetService, signal: AbortSignal): Promise<I2pStream> {
    if (to.port !== I2P_PORT) throw new DialError(`connection refused due to arbitrary port ${to.port}`);
    return await this.#withLines(signal, async (lines, session) => {
      const name = printAddress(to.address);
      const destination = await this.#lookUp(lines, name);
      const request = `STREAM CONNECT ID=${session.id} DESTINATION=${destination} SILENT=false`;
      const result = resultOf(await this.#requestReply(lines, request));
      if (result === 'INVALID_ID') this.close();
      if (result !== 'OK') throw new DialError(`I2P router: ${result}`, !PEER_FAILURES.includes(result));
      return new I2pStream(lines.release(), session.own, to);
    });
  }

  /** Opens the session if necessary and waits for one peer. Calls `listening` once peers can connect. Rejects like `connect`. */
  async accept(listening: (own: NetService) => void, signal: AbortSignal): Promise<I2pStream> {
    return await this.#withLines(signal, async (lines, session) => {
      const result = resultOf(await this.#requestReply(lines, `STREAM ACCEPT ID=${session.id} SILENT=false`));
      if (result === 'INVALID_ID') this.close();
      if (result !== 'OK') throw new DialError(`I2P router: ${result}`, true);
      listening(session.own);
      const line = await lines.readLine();
      const address = addressOfPeerLine(line);
      if (address !== null) return new I2pStream(lines.release(), session.own, { address, port: I2P_PORT });
      // The router reports the end of the session on this connection, too.
      if (parseSamReply(line).get('RESULT') === 'I2P_ERROR') this.close();
      throw new DialError('I2P router: malformed address of a peer', true);
    });
  }

  /** Closes the session; it is made again when it is needed. */
  close(): void {
    if (this.#open === null) return;
    this.#parts.log.debug('I2P session closed', { session: this.#open.id });
    this.#open.control.close();
    this.#open = null;
  }

  /** Runs an exchange on a connection of its own, which is closed if it fails. */
  async #withLines<T>(signal: AbortSignal, run: (lines: LineStream, session: OpenSession) => Promise<T>): Promise<T> {
    const session = await this.#session(signal);
    const lines = await this.#hello(signal);
    try {
      return await run(lines, session);
    } catch (error) {
      lines.close();
      if (session.control.closed && this.#open === session) this.close();
      throw error;
    }
  }

  /** Callers share one session, so only one of them makes it. */
  async #session(signal: AbortSignal): Promise<OpenSession> {
    if (this.#open !== null && !this.#open.control.closed) return this.#open;
    this.close();
    this.#opening ??= this.#create(signal).finally(() => {
      this.#opening = null;
    });
    this.#open = await this.#opening;
    return this.#open;
  }

  async #create(signal: AbortSignal): Promise<OpenSession> {
    const { log, sam } = this.#parts;
    const id = crypto.getRandomValues(new Uint8Array(5)).toHex();
    const kind = this.#keyFile === null ? 'transient' : 'persistent';
    log.debug('I2P session requested', { kind, session: id, sam: targetText(sam) });
    const control = await this.#hello(signal);
    try {
      const key =
        this.#keyFile === null
          ? await this.#createTransient(control, id)
          : await this.#createPersistent(control, id, this.#keyFile);
      const destination = destinationOf(key);
      if (destination === null) throw new DialError('the private key for I2P is too short', true);
      const own = { address: addressOfDestination(destination), port: I2P_PORT };
      log.info('I2P session made', { kind, session: id, address: printService(own) });
      return { id, own, control };
    } catch (error) {
      control.close();
      throw error;
    }
  }

  async #createTransient(control: LineStream, id: string): Promise<Uint8Array> {
    const reply = await this.#requestSession(
      control,
      `${id} DESTINATION=TRANSIENT SIGNATURE_TYPE=${SIGNATURE_TYPE}`,
      1,
    );
    return keyOf(reply, 'DESTINATION');
  }

  async #createPersistent(control: LineStream, id: string, keyFile: string): Promise<Uint8Array> {
    let key: Uint8Array | null;
    try {
      key = readPrivateFile(keyFile, MAX_KEY);
      if (key === null) {
        key = keyOf(await this.#requestReply(control, `DEST GENERATE SIGNATURE_TYPE=${SIGNATURE_TYPE}`), 'PRIV');
        writePrivateFile(keyFile, key);
      }
    } catch (error) {
      if (error instanceof DialError) throw error;
      throw new DialError(`${keyFile}: ${(error as Error).message}`, true);
    }
    await this.#requestSession(control, `${id} DESTINATION=${encodeI2pBase64(key)}`, 3);
    return key;
  }

  /** `quantity` is the number of tunnels in each direction. */
  async #requestSession(control: LineStream, session: string, quantity: number): Promise<ReadonlyMap<string, string>> {
    const options = `i2cp.leaseSetEncType=4,0 inbound.quantity=${quantity} outbound.quantity=${quantity}`;
    const reply = await this.#requestReply(control, `SESSION CREATE STYLE=STREAM ID=${session} ${options}`);
    // The request has the private key, so errors do not repeat it.
    if (resultOf(reply) !== 'OK') throw new DialError(`I2P router: ${resultOf(reply)} for a new session`, true);
    return reply;
  }

  async #lookUp(lines: LineStream, name: string): Promise<string> {
    const reply = await this.#requestReply(lines, `NAMING LOOKUP NAME=${name}`);
    const destination = reply.get('VALUE');
    if (resultOf(reply) !== 'OK' || destination === undefined)
      throw new DialError(`I2P router: ${resultOf(reply)} for the address`);
    // It becomes part of the next request.
    if (decodeI2pBase64(destination) === null) throw new DialError('I2P router: malformed destination', true);
    return destination;
  }

  async #hello(signal: AbortSignal): Promise<LineStream> {
    const { sam, dial, timing } = this.#parts;
    const stream = await dial(sam, signal).catch((error) => {
      throw error instanceof DialError ? new DialError(`Cannot connect to ${targetText(sam)}`, true) : error;
    });
    const lines = new LineStream(stream, { maxLength: MAX_LINE, timing, signal });
    try {
      const result = resultOf(await this.#requestReply(lines, 'HELLO VERSION MIN=3.1 MAX=3.1'));
      if (result !== 'OK') throw new DialError(`I2P router: ${result} for SAM 3.1`, true);
      return lines;
    } catch (error) {
      lines.close();
      throw error;
    }
  }

  async #requestReply(lines: LineStream, request: string): Promise<ReadonlyMap<string, string>> {
    try {
      lines.send(`${request}\n`);
      return parseSamReply(await lines.readLine(REPLY_TIMEOUT_MS));
    } catch (error) {
      throw error instanceof DialError ? new DialError(`I2P router: ${error.message}`, true) : error;
    }
  }
}

/** Longest part of a result that is shown. */
const MAX_SHOWN = 40;

/** Returns RESULT of a reply, shortened: it is shown in the log. */
function resultOf(reply: ReadonlyMap<string, string>): string {
  return (reply.get('RESULT') ?? 'no result').slice(0, MAX_SHOWN);
}

function keyOf(reply: ReadonlyMap<string, string>, member: string): Uint8Array {
  const key = decodeI2pBase64(reply.get(member) ?? '');
  if (key === null || key.length === 0 || key.length > MAX_KEY)
    throw new DialError(`I2P router: no key in ${member}`, true);
  return key;
}
