import { timingSafeEqual } from 'node:crypto';
import { closeSync, constants, fstatSync, openSync, readFileSync } from 'node:fs';
import { isAbsolute } from 'node:path';
import { bytesToHex } from '../../util/bytes.ts';
import { DialError } from '../connections/dial.ts';
import type { ControlConnection } from './control-connection.ts';
import { parseReplyMapping, quotedText, splitKeyword } from './control-reply.ts';

export const REPLY_OK = 250;
const COOKIE_SIZE = 32;
const NONCE_SIZE = 32;
const SERVER_KEY = 'Tor safe cookie authentication server-to-controller hash';
const CLIENT_KEY = 'Tor safe cookie authentication controller-to-server hash';

/**
 * Authenticates at Tor's control port (control-spec, 3.5, 3.21 and 3.24): with the password if there is one, otherwise
 * with nothing or with the cookie file, as Tor demands. Returns the name of the method. Throws DialError.
 */
export async function authenticate(connection: ControlConnection, password: string | null): Promise<string> {
  const { methods, cookieFile } = await protocolInfo(connection);
  if (password !== null) {
    if (!methods.has('HASHEDPASSWORD')) throw new DialError('it does not accept a password');
    return await submit(connection, 'HASHEDPASSWORD', ` ${quotedText(password)}`);
  }
  if (methods.has('NULL')) return await submit(connection, 'NULL', '');
  if (methods.has('SAFECOOKIE'))
    return await submit(connection, 'SAFECOOKIE', ` ${await cookieProof(connection, cookieFile)}`);
  if (methods.has('HASHEDPASSWORD')) throw new DialError('it demands a password, and p2p.torPasswordFile is not set');
  throw new DialError('it accepts none of SAFECOOKIE, HASHEDPASSWORD and NULL');
}

async function protocolInfo(connection: ControlConnection) {
  const { code, lines } = await connection.command('PROTOCOLINFO 1');
  if (code !== REPLY_OK) throw new DialError(`PROTOCOLINFO was refused with ${code}`);
  let methods = new Set<string>();
  let cookieFile = '';
  for (const line of lines) {
    const { keyword, rest } = splitKeyword(line);
    if (keyword !== 'AUTH') continue;
    const facts = parseReplyMapping(rest);
    methods = new Set(facts.get('METHODS')?.split(','));
    // Every byte came as one character.
    cookieFile = Buffer.from(facts.get('COOKIEFILE') ?? '', 'latin1').toString('utf8');
  }
  return { methods, cookieFile };
}

async function submit(connection: ControlConnection, method: string, proof: string): Promise<string> {
  const { code } = await connection.command(`AUTHENTICATE${proof}`);
  if (code !== REPLY_OK) throw new DialError(`authentication with ${method} was refused with ${code}`);
  return method;
}

/** Both ends prove that they know the cookie, so that a false Tor learns nothing of it. */
async function cookieProof(connection: ControlConnection, path: string): Promise<string> {
  const cookie = readCookie(path);
  const clientNonce = crypto.getRandomValues(new Uint8Array(NONCE_SIZE));
  const { code, lines } = await connection.command(`AUTHCHALLENGE SAFECOOKIE ${bytesToHex(clientNonce)}`);
  if (code !== REPLY_OK) throw new DialError(`AUTHCHALLENGE was refused with ${code}`);
  const { keyword, rest } = splitKeyword(lines[0] ?? '');
  const facts = parseReplyMapping(rest);
  const serverHash = hexOf(facts.get('SERVERHASH'));
  const serverNonce = hexOf(facts.get('SERVERNONCE'));
  if (keyword !== 'AUTHCHALLENGE' || serverHash === null || serverNonce?.length !== NONCE_SIZE)
    throw new DialError('malformed reply to AUTHCHALLENGE');
  const proofWith = (key: string) =>
    new Bun.CryptoHasher('sha256', key).update(cookie).update(clientNonce).update(serverNonce).digest();
  const expected = proofWith(SERVER_KEY);
  if (serverHash.length !== expected.length || !timingSafeEqual(serverHash, expected))
    throw new DialError('it does not know the content of its cookie file');
  return bytesToHex(proofWith(CLIENT_KEY));
}

function readCookie(path: string): Uint8Array {
  if (!isAbsolute(path)) throw new DialError('the path of its cookie file is not absolute');
  let fd: number | null = null;
  try {
    // The path comes from the other end: it may be a pipe or a device.
    fd = openSync(path, constants.O_RDONLY | constants.O_NONBLOCK);
    const facts = fstatSync(fd);
    if (!facts.isFile() || facts.size !== COOKIE_SIZE)
      throw new DialError(`its cookie file is not a file of ${COOKIE_SIZE} bytes`);
    return readFileSync(fd).subarray(0, COOKIE_SIZE);
  } catch (error) {
    if (error instanceof DialError) throw error;
    throw new DialError(`its cookie file cannot be read: ${(error as NodeJS.ErrnoException).code}`);
  } finally {
    if (fd !== null) closeSync(fd);
  }
}

function hexOf(text = ''): Uint8Array | null {
  return /^(?:[0-9a-f]{2})+$/i.test(text) ? Uint8Array.fromHex(text) : null;
}
