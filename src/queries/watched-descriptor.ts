import { fail } from '../http/errors.ts';
import type { NetworkParams } from '../params/network-params.ts';
import { addChecksum, checkChecksum } from '../wallet/descriptor/checksum.ts';
import { parseDescriptor } from '../wallet/descriptor/parse-descriptor.ts';
import { formatExtendedPublicKey } from '../wallet/keys/extended-key.ts';
import { hasPrivateKey } from '../wallet/keys/hide-secrets.ts';
import { parseVersionedKey } from '../wallet/keys/slip132.ts';
import { DerivedBranch, type WatchedDescriptor } from './derived-scripts.ts';

/** Maximum number of values of a multipath step. */
const MAX_BRANCHES = 10;
/** A word that an extended key may be. */
const BARE_KEY = /^[1-9A-HJ-NP-Za-km-z]{90,130}$/;
/** Maximum length of a parser's message that a reply shows, characters. */
const MAX_MESSAGE = 160;
/** Traces of a key or of its origin. */
const KEY_TRACE = /\[|[0-9A-Za-z]{20}/;

/** Codes of the errors of a descriptor in a request. */
export const DESCRIPTOR_ERRORS = ['invalid_descriptor', 'private_key_refused', 'too_many_scripts'] as const;

/** Throws `private_key_refused` for a text that names a private key. No part of it is in the error. */
export function checkNoPrivateKey(text: string): void {
  if (hasPrivateKey(text)) refusePrivateKeys();
}

function refusePrivateKeys(): never {
  fail('private_key_refused', 'private keys are refused: the descriptor must name public keys only');
}

/** Values of the multipath steps of a descriptor, and words that may be its keys. */
const MULTIPATH = /<([^<>]*)>/g;
const KEY_WORD = /[0-9A-Za-z]{64,}/g;

/** The size of a descriptor, as its text shows without being parsed. */
export interface DescriptorSize {
  /** Whether each index has its own scripts. */
  readonly isRange: boolean;
  readonly branches: number;
  /** Number of keys of one script, at least 1; hashes in the text count as keys. */
  readonly keys: number;
}

/** Returns the size of a descriptor, or of an extended public key, by its text; of a malformed one, any. */
export function sizeOfDescriptor(text: string): DescriptorSize {
  if (BARE_KEY.test(text)) return { isRange: true, branches: 2, keys: 1 };
  let branches = 1;
  for (const [, values] of text.matchAll(MULTIPATH)) branches = Math.max(branches, values!.split(';').length);
  const keys = Math.max(1, text.match(KEY_WORD)?.length ?? 0);
  return { isRange: text.includes('*'), branches: Math.min(branches, MAX_BRANCHES), keys };
}

/**
 * Parses a descriptor without private keys, or an extended public key (SLIP-132). Throws `invalid_descriptor` or
 * `private_key_refused`, with no key in the error.
 */
export function parseWatchedDescriptor(text: string, params: NetworkParams): WatchedDescriptor {
  checkNoPrivateKey(text);
  const given = BARE_KEY.test(text) ? descriptorOfKey(text, params) : text;
  const checked = checkChecksum(given, false);
  if (!checked.ok) {
    const isMismatch = checked.error.startsWith('Provided checksum');
    return invalid(isMismatch ? 'the checksum is wrong' : shown(checked.error), isMismatch ? 'checksum' : 'malformed');
  }
  const parsed = parseDescriptor(checked.payload, params);
  if (!parsed.ok) return invalid(shown(parsed.error), 'malformed');
  using keys = parsed.keys;
  const { descriptors } = parsed;
  if (keys.privateKeys.size > 0) refusePrivateKeys();
  if (descriptors.length > MAX_BRANCHES)
    invalid(`a multipath step may have at most ${MAX_BRANCHES} values, not ${descriptors.length}`, 'malformed');
  const [first] = descriptors;
  if (!first!.hasScripts) invalid('unused() has no scripts', 'no_scripts');
  if (!first!.canSelfExpand) invalid('hardened steps behind an extended public key need the private key', 'hardened');
  return {
    text: addChecksum(checked.payload),
    branches: descriptors.map((descriptor, number) => new DerivedBranch(descriptor, number, params.address)),
  };
}

/** Returns the descriptor that wallets mean by a bare account key: receiving and change addresses (BIP-44). */
function descriptorOfKey(text: string, params: NetworkParams): string {
  const versioned = parseVersionedKey(text) ?? invalid('this is no extended public key', 'malformed');
  const { key, isMain, scripts } = versioned;
  if (isMain !== !params.isTestnet) {
    const network = isMain ? 'the main network' : 'a test network';
    invalid(`the key belongs to ${network}, and this node is on ${params.name}`, 'wrong_network');
  }
  const ranged = `${formatExtendedPublicKey(key, params.bip32)}/<0;1>/*`;
  switch (scripts) {
    case 'pkh':
      return `pkh(${ranged})`;
    case 'sh-wpkh':
      return `sh(wpkh(${ranged}))`;
    case 'wpkh':
      return `wpkh(${ranged})`;
    case 'multisig':
      return invalid('the key is one of a multisig, which only a descriptor describes', 'multisig_key');
  }
}

type Reason = 'malformed' | 'checksum' | 'wrong_network' | 'multisig_key' | 'hardened' | 'no_scripts';

function invalid(message: string, reason: Reason): never {
  return fail('invalid_descriptor', message, { reason });
}

/** Returns the message of the parser without the texts that it quotes. */
function shown(message: string): string {
  const hidden = message.replace(/'.*'/s, "'…'");
  const isSafe = hidden !== '' && hidden.length <= MAX_MESSAGE && !KEY_TRACE.test(hidden);
  return isSafe ? hidden : 'this is no valid descriptor';
}
