import { hash160, sha256 } from '../crypto/hash-functions.ts';
import type { NetworkParams } from '../params/network-params.ts';
import { addressOf } from '../script/address.ts';
import { Op } from '../script/opcodes.ts';
import { scriptOf } from '../script/script-builder.ts';
import { TAPROOT_LEAF_TAPSCRIPT } from '../script/taproot.ts';
import { multisig, p2pk, p2pkh, p2shOf, p2tr, p2wpkh, p2wshOf } from '../script/templates.ts';
import { assert } from '../util/assert.ts';
import { buildTaproot } from '../wallet/descriptor/taproot-tree.ts';
import { PrivateKey } from '../wallet/keys/private-key.ts';
import { SigningData, type SigningProvider } from '../wallet/keys/signing-data.ts';

/** A script that receives payments of the sandbox, and is spent by it. */
interface SandboxAccount {
  /** The kind of output, for display. */
  readonly kind: string;
  readonly scriptPubKey: Uint8Array;
}

export interface SandboxAddress {
  readonly kind: string;
  readonly address: string;
}

/** Anyone can compute the keys of the sandbox from this text, so they must never hold anything of value. */
const SEED_TEXT = 'obverse sandbox: public keys and secrets, regtest only';

/** Returns the SHA-256 of the seed text with an index. These secrets are public. */
function sandboxSecret(index: number): Uint8Array {
  return sha256(new TextEncoder().encode(`${SEED_TEXT} ${index}`));
}

interface SandboxAccounts {
  readonly accounts: readonly SandboxAccount[];
  /** Keys and scripts that spend from the accounts. */
  readonly signing: SigningProvider;
}

let cached: SandboxAccounts | null = null;

/** Returns the accounts, which are the same in every sandbox, and what spends from them. */
export function sandboxAccounts(): SandboxAccounts {
  cached ??= makeAccounts();
  return cached;
}

/** The point of BIP-341 without a known discrete logarithm: such an output can only be spent by script. */
const UNSPENDABLE_KEY = Uint8Array.fromHex('50929b74c1a04954b78b4b6035e97a5e078a5a0f28ec96d547bfee9ace803ac0');

function makeAccounts(): SandboxAccounts {
  const signing = new SigningData();
  let keys = 0;
  const key = (): Uint8Array => {
    const secret = new PrivateKey(sandboxSecret(keys++));
    signing.addPublicKey(secret.publicKey);
    signing.addPrivateKey(secret);
    return secret.publicKey;
  };
  const xOnlyKey = (): Uint8Array => key().subarray(1);
  const script = (content: Uint8Array): Uint8Array => {
    signing.addScript(content);
    return content;
  };
  const taproot = (internalKey: Uint8Array, ...scripts: Uint8Array[]): Uint8Array => {
    const leaves = scripts.map((script) => ({ depth: 0, leafVersion: TAPROOT_LEAF_TAPSCRIPT, script }));
    const built = buildTaproot(internalKey, leaves);
    assert(built !== null, 'internal key is on the curve');
    signing.addTaproot(built);
    return p2tr(built.outputKey);
  };
  const p2wpkhOf = (publicKey: Uint8Array): Uint8Array => p2wpkh(hash160(publicKey));
  const twoOfThree = (): Uint8Array => script(multisig(2, [key(), key(), key()]));
  const accounts: SandboxAccount[] = [
    { kind: 'P2WPKH', scriptPubKey: p2wpkhOf(key()) },
    { kind: 'P2TR', scriptPubKey: taproot(xOnlyKey()) },
    { kind: 'P2PKH', scriptPubKey: p2pkh(hash160(key())) },
    { kind: 'P2SH-P2WPKH', scriptPubKey: p2shOf(script(p2wpkhOf(key()))) },
    { kind: 'P2WSH 2-of-3', scriptPubKey: p2wshOf(twoOfThree()) },
    { kind: 'P2WPKH', scriptPubKey: p2wpkhOf(key()) },
    { kind: 'P2TR', scriptPubKey: taproot(xOnlyKey()) },
    { kind: 'P2SH 2-of-3', scriptPubKey: p2shOf(twoOfThree()) },
    { kind: 'P2PKH', scriptPubKey: p2pkh(hash160(key())) },
    { kind: 'P2TR script', scriptPubKey: taproot(UNSPENDABLE_KEY, scriptOf(xOnlyKey(), Op.OP_CHECKSIG)) },
    { kind: 'P2SH-P2WSH 2-of-3', scriptPubKey: p2shOf(script(p2wshOf(twoOfThree()))) },
    { kind: 'P2WPKH', scriptPubKey: p2wpkhOf(key()) },
    { kind: 'P2PK', scriptPubKey: p2pk(key()) },
  ];
  return { accounts, signing };
}

/** Returns the addresses that receive payments in the sandbox; P2PK has none. */
export function sandboxAddresses(params: NetworkParams): SandboxAddress[] {
  return sandboxAccounts().accounts.flatMap(({ kind, scriptPubKey }) => {
    const address = addressOf(scriptPubKey, params.address);
    return address === null ? [] : [{ kind, address }];
  });
}
