import type { Log } from '../../util/log.ts';
import { readPrivateFile, writePrivateFile } from '../../util/private-file.ts';
import { parseNetAddress, parseService } from '../address/address-text.ts';
import type { NetService } from '../address/net-address.ts';
import { type Dial, DialError, type DialTarget, targetText } from '../connections/dial.ts';
import type { Timing } from '../connections/timing.ts';
import { authenticate, REPLY_OK } from './control-auth.ts';
import { ControlConnection } from './control-connection.ts';
import { parseReplyMapping } from './control-reply.ts';

const SYNTAX_ERROR = 512;
/** A new key for an onion service of version 3. */
const NEW_KEY = 'NEW:ED25519-V3';
const KEY = /^ED25519-V3:[A-Za-z0-9+/]{86}==$/;
const MAX_KEY_FILE = 256;
const SOCKS_PORT = 9050;
/** First and longest pause before another attempt, milliseconds, and its growth. */
const FIRST_PAUSE_MS = 1000;
const MAX_PAUSE_MS = 600_000;
const GROWTH = 1.5;
/** Time after which a connection on which Tor has refused something is replaced, milliseconds. */
const REFUSED_PAUSE_MS = 60_000;

export interface OnionServiceOptions {
  /** Tor's control port. */
  readonly control: DialTarget;
  readonly password: string | null;
  /** File of the service's private key. */
  readonly keyFile: string;
  /** The address to which Tor forwards peers. */
  readonly target: DialTarget;
  /** Port of the service, the default one of the network: another one would distinguish this node. */
  readonly port: number;
  /** Whether Tor is asked for its SOCKS5 proxy. */
  readonly wantsProxy: boolean;
}

export interface OnionServiceParts {
  readonly dial: Dial;
  readonly timing: Timing;
  readonly log: Log;
  /** The node can be reached at the service; null when it no longer can. */
  readonly onService: (service: NetService | null) => void;
  /** Tor's SOCKS5 proxy. */
  readonly onProxy: (proxy: DialTarget) => void;
}

/**
 * Keeps an onion service through Tor's control port as long as the node runs: Tor removes it when the connection ends.
 * Connects again with growing pauses. Rejects with the signal's reason.
 */
export async function keepOnionService(
  options: OnionServiceOptions,
  parts: OnionServiceParts,
  signal: AbortSignal,
): Promise<never> {
  const { timing, log, onService } = parts;
  let pause = FIRST_PAUSE_MS;
  const control = targetText(options.control);
  for (;;) {
    let connection: ControlConnection | null = null;
    try {
      connection = await ControlConnection.open(options.control, { ...parts, signal });
      log.debug('connected to Tor', { control });
      const service = await makeService(connection, options, parts);
      pause = FIRST_PAUSE_MS;
      onService(service);
      await connection.ended;
    } catch (error) {
      signal.throwIfAborted();
      if (!(error instanceof DialError)) throw error;
      log.warn('no onion service', { control, reason: error.message, nextTryInSeconds: Math.round(pause / 1000) });
      // Tor would refuse the same request again, so an open connection is kept for a while.
      if (connection !== null) await endOrSleep(connection, Math.max(pause, REFUSED_PAUSE_MS), timing, signal);
    } finally {
      onService(null);
      connection?.close();
    }
    await timing.sleep(pause, signal);
    pause = Math.min(pause * GROWTH, MAX_PAUSE_MS);
  }
}

/** Resolves when the connection ends, at the latest after some milliseconds. */
async function endOrSleep(
  connection: ControlConnection,
  ms: number,
  timing: Timing,
  signal: AbortSignal,
): Promise<void> {
  const done = new AbortController();
  const sleeping = timing.sleep(ms, AbortSignal.any([signal, done.signal])).catch(() => {});
  await Promise.race([sleeping, connection.ended.catch(() => {})]);
  done.abort();
  signal.throwIfAborted();
}

async function makeService(
  connection: ControlConnection,
  options: OnionServiceOptions,
  parts: OnionServiceParts,
): Promise<NetService> {
  const { log } = parts;
  const method = await authenticate(connection, options.password);
  log.debug('Tor accepted the authentication', { method });
  if (options.wantsProxy) parts.onProxy(await socksProxy(connection, log));
  const { keyFile, port, target } = options;
  const saved = savedKey(keyFile);
  const command = (defended: boolean) =>
    `ADD_ONION ${saved ?? NEW_KEY}${defended ? ' PoWDefensesEnabled=1' : ''} Port=${port},${targetText(target)}`;
  let reply = await connection.command(command(true));
  // Tor before 0.4.9 does not know the defences by proof of work.
  if (reply.code === SYNTAX_ERROR) reply = await connection.command(command(false));
  if (reply.code !== REPLY_OK) throw new DialError(`ADD_ONION was refused with ${reply.code}`);
  const facts = new Map(reply.lines.flatMap((line) => [...parseReplyMapping(line)]));
  const address = parseNetAddress(`${facts.get('ServiceID') ?? ''}.onion`);
  if (address === null) throw new DialError('malformed reply to ADD_ONION');
  const key = facts.get('PrivateKey');
  if (saved === null) {
    if (key === undefined || !KEY.test(key)) throw new DialError('no key in the reply to ADD_ONION');
    writePrivateFile(keyFile, key);
  }
  const service = { address, port };
  log.info('onion service made', { address: `${facts.get('ServiceID')}.onion`, port, keyFile });
  return service;
}

/** Returns the key of the service; null for a new one. Throws DialError. */
function savedKey(path: string): string | null {
  let text: string | null;
  try {
    text = readPrivateFile(path, MAX_KEY_FILE)?.toString('latin1').trim() ?? null;
  } catch (error) {
    throw new DialError((error as Error).message);
  }
  if (text !== null && !KEY.test(text)) throw new DialError(`${path} does not hold a key of an onion service`);
  return text;
}

/** Returns the SOCKS5 proxy of this Tor, on loopback if possible; the default one if it does not say. */
async function socksProxy(connection: ControlConnection, log: Log): Promise<DialTarget> {
  const { code, lines } = await connection.command('GETINFO net/listeners/socks');
  const listed = lines.find((line) => line.startsWith('net/listeners/socks='))?.split('=', 2)[1] ?? '';
  const texts = code === REPLY_OK ? listed.split(' ').map((text) => text.replace(/^(["'])(.*)\1$/, '$2')) : [];
  const text = texts.find((one) => one.startsWith('127.0.0.1:')) ?? texts.find((one) => parseService(one, SOCKS_PORT));
  const proxy = { host: '127.0.0.1', port: SOCKS_PORT };
  const service = text === undefined ? null : parseService(text, SOCKS_PORT);
  if (service !== null && text !== undefined) {
    proxy.port = service.port;
    proxy.host = text.slice(0, text.lastIndexOf(':')).replace(/^\[(.*)\]$/, '$1');
  }
  log.debug('proxy of Tor used for onion services', { proxy: targetText(proxy) });
  return proxy;
}
