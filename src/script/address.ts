import { concatBytes } from '../util/bytes.ts';
import { decodeBase58, decodeBase58Check, encodeBase58Check } from './base58.ts';
import { bytesToGroups, decodeBech32, encodeBech32, groupsToBytes } from './bech32.ts';
import { locateBech32Errors } from './bech32-errors.ts';
import { isPayToAnchor, p2pkh, p2sh, type ScriptType, scriptType, witnessScript } from './templates.ts';

/** The address format of a network: version bytes of base58 and human-readable part of Bech32. */
export interface AddressFormat {
  readonly p2pkh: number;
  readonly p2sh: number;
  readonly hrp: string;
}

export interface KnownFormat extends AddressFormat {
  readonly name: string;
}

/** Formats by which addresses of another network are recognized. The test networks differ in the prefix alone. */
export const KNOWN_ADDRESS_FORMATS: readonly KnownFormat[] = [
  { name: 'main', p2pkh: 0x00, p2sh: 0x05, hrp: 'bc' },
  { name: 'test', p2pkh: 0x6f, p2sh: 0xc4, hrp: 'tb' },
  { name: 'regtest', p2pkh: 0x6f, p2sh: 0xc4, hrp: 'bcrt' },
];

export type AddressRejection = 'malformed' | 'checksum' | 'wrong_network' | 'unsupported_version';

export interface AddressFault {
  readonly ok: false;
  readonly reason: AddressRejection;
  /** Core's error text, as in validateaddress. */
  readonly error: string;
  /** Positions of characters of a Bech32 address that are likely wrong; empty if they cannot be located. */
  readonly errorLocations: readonly number[];
  /** The known network of the address with `wrong_network`; else null. */
  readonly network: string | null;
}

export interface ParsedAddress {
  readonly ok: true;
  readonly script: Uint8Array;
  readonly type: ScriptType;
  /** The canonical form: without spaces, Bech32 in lower case. */
  readonly address: string;
  /** Witness version; null without a witness program. */
  readonly witnessVersion: number | null;
  readonly witnessProgram: Uint8Array | null;
}

const HASH_SIZE = 20;
/** Size of version, hash and checksum, bytes. */
const ADDRESS_SIZE = 25;
const MAX_PROGRAM_SIZE = 40;
const MAX_TEXT = 1000;
const UNSUPPORTED_ENCODING = 'Invalid or unsupported Segwit (Bech32) or Base58 encoding.';

/** Returns the address of an output script; null if it has none, as with bare keys, bare multisig and OP_RETURN. */
export function addressOf(script: Uint8Array, net: AddressFormat): string | null {
  const { type, solutions } = scriptType(script);
  switch (type) {
    case 'pubkeyhash':
      return base58Address(net.p2pkh, solutions[0]!);
    case 'scripthash':
      return base58Address(net.p2sh, solutions[0]!);
    case 'witness_v0_keyhash':
    case 'witness_v0_scripthash':
      return witnessAddress(net, 0, solutions[0]!);
    case 'witness_v1_taproot':
      return witnessAddress(net, 1, solutions[0]!);
    case 'anchor':
      return witnessAddress(net, 1, script.subarray(2));
    case 'witness_unknown':
      return witnessAddress(net, solutions[0]![0]!, solutions[1]!);
    default:
      return null;
  }
}

function base58Address(version: number, hash: Uint8Array): string {
  return encodeBase58Check(concatBytes(Uint8Array.of(version), hash));
}

function witnessAddress(net: AddressFormat, version: number, program: Uint8Array): string {
  const data = concatBytes(Uint8Array.of(version), bytesToGroups(program));
  return encodeBech32(version === 0 ? 'bech32' : 'bech32m', net.hrp, data);
}

/** Parses an address of one network. A fault has Core's error text and one of a few reasons. */
export function parseAddress(
  text: string,
  net: AddressFormat,
  others: readonly KnownFormat[] = KNOWN_ADDRESS_FORMATS,
): ParsedAddress | AddressFault {
  // Far above any address. The list of all excess positions would be longer than the text.
  if (text.length > MAX_TEXT)
    return { ok: false, reason: 'malformed', error: UNSUPPORTED_ENCODING, errorLocations: [], network: null };
  // Decided by the prefix alone, so that a mistyped Bech32 address is reported as such.
  const isBech32 = text.slice(0, net.hrp.length).toLowerCase() === net.hrp;
  return isBech32 ? parseBech32Address(text, net, others) : parseBase58Address(text, net, others);
}

function parseBase58Address(
  text: string,
  net: AddressFormat,
  others: readonly KnownFormat[],
): ParsedAddress | AddressFault {
  const payload = decodeBase58Check(text, 1 + HASH_SIZE);
  if (payload === null) {
    const unchecked = decodeBase58(text, 100);
    const error =
      unchecked === null ? UNSUPPORTED_ENCODING : 'Invalid checksum or length of Base58 address (P2PKH or P2SH)';
    // A Bech32 address of another network may consist of base58 characters alone.
    const foreign = decodeBech32(text);
    if (foreign !== null) {
      const network = networkOf(others, (other) => other.hrp === foreign.hrp);
      return fault('wrong_network', error, network);
    }
    return fault(unchecked?.length === ADDRESS_SIZE ? 'checksum' : 'malformed', error);
  }
  const version = payload[0];
  const hash = payload.subarray(1);
  const ours = version === net.p2pkh || version === net.p2sh;
  if (hash.length !== HASH_SIZE || !ours) {
    if (ours) return fault('malformed', 'Invalid length for Base58 address (P2PKH or P2SH)');
    const error = 'Invalid or unsupported Base58-encoded address.';
    const network = networkOf(others, (other) => version === other.p2pkh || version === other.p2sh);
    if (hash.length === HASH_SIZE && network !== null) return fault('wrong_network', error, network);
    return fault(hash.length === HASH_SIZE ? 'unsupported_version' : 'malformed', error);
  }
  return parsed(version === net.p2pkh ? p2pkh(hash) : p2sh(hash), net, null, null);
}

function parseBech32Address(
  text: string,
  net: AddressFormat,
  others: readonly KnownFormat[],
): ParsedAddress | AddressFault {
  const decoded = decodeBech32(text);
  if (decoded === null) {
    const { error, locations } = locateBech32Errors(text);
    return fault(error.endsWith('checksum') ? 'checksum' : 'malformed', error, null, locations);
  }
  const { encoding, hrp, data } = decoded;
  if (data.length === 0) return fault('malformed', 'Empty Bech32 data section');
  if (hrp !== net.hrp) {
    const error = `Invalid or unsupported prefix for Segwit (Bech32) address (expected ${net.hrp}, got ${hrp}).`;
    return fault(
      'wrong_network',
      error,
      networkOf(others, (other) => other.hrp === hrp),
    );
  }
  const version = data[0]!;
  if (version === 0 && encoding !== 'bech32')
    return fault('checksum', 'Version 0 witness address must use Bech32 checksum');
  if (version !== 0 && encoding !== 'bech32m')
    return fault('checksum', 'Version 1+ witness address must use Bech32m checksum');
  const program = groupsToBytes(data.subarray(1));
  if (program === null) return fault('malformed', 'Invalid padding in Bech32 data section');

  const size = `${program.length} ${program.length === 1 ? 'byte' : 'bytes'}`;
  if (version === 0 && program.length !== 20 && program.length !== 32)
    return fault('malformed', `Invalid Bech32 v0 address program size (${size}), per BIP141`);
  if (!isPayToAnchor(version, program)) {
    if (version > 16) return fault('unsupported_version', 'Invalid Bech32 address witness version');
    if (program.length < 2 || program.length > MAX_PROGRAM_SIZE)
      return fault('malformed', `Invalid Bech32 address program size (${size})`);
  }
  return parsed(witnessScript(version, program), net, version, program);
}

function parsed(
  script: Uint8Array,
  net: AddressFormat,
  witnessVersion: number | null,
  witnessProgram: Uint8Array | null,
): ParsedAddress {
  const { type } = scriptType(script);
  return { ok: true, script, type, address: addressOf(script, net)!, witnessVersion, witnessProgram };
}

function fault(
  reason: AddressRejection,
  error: string,
  network: string | null = null,
  errorLocations: readonly number[] = [],
): AddressFault {
  return { ok: false, reason, error, errorLocations, network };
}

function networkOf(others: readonly KnownFormat[], matches: (other: KnownFormat) => boolean): string | null {
  return others.find(matches)?.name ?? null;
}
