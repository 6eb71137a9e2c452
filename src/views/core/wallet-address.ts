import { hash160, ripemd160 } from '../../crypto/hash-functions.ts';
import type { NetworkParams } from '../../params/network-params.ts';
import { addressOf } from '../../script/address.ts';
import { scriptType, witnessVersion } from '../../script/templates.ts';
import { formatKeyPath, type KeyOrigin } from '../../wallet/keys/key-path.ts';
import { keyOriginOfXOnly, type SigningProvider } from '../../wallet/keys/signing-data.ts';

type Format = Pick<NetworkParams, 'address'>;

/** Returns the kind of an output script. Core's DescribeAddress. */
export function describeScript(script: Uint8Array) {
  const { type, solutions } = scriptType(script);
  switch (type) {
    case 'pubkeyhash':
      return { isscript: false, iswitness: false };
    case 'scripthash':
      return { isscript: true, iswitness: false };
    case 'witness_v0_keyhash':
      return witness(false, 0, solutions[0]!);
    case 'witness_v0_scripthash':
      return witness(true, 0, solutions[0]!);
    case 'witness_v1_taproot':
      return witness(true, 1, solutions[0]!);
    case 'anchor':
      return { isscript: true, iswitness: true };
    case 'witness_unknown':
      return { iswitness: true, witness_version: witnessVersion(script), witness_program: solutions[1]!.toHex() };
    default:
      return {};
  }
}

function witness(isscript: boolean, version: number, program: Uint8Array) {
  return { isscript, iswitness: true, witness_version: version, witness_program: program.toHex() };
}

/** Returns the known keys and scripts of an output script. Core's DescribeWalletAddress without DescribeAddress. */
export function describeKnown(script: Uint8Array, data: SigningProvider, params: Format): Record<string, unknown> {
  const { type, solutions } = scriptType(script);
  if (type === 'pubkeyhash') {
    const key = data.publicKey(solutions[0]!);
    return key ? { pubkey: key.toHex(), iscompressed: key.length === 33 } : {};
  }
  if (type === 'witness_v0_keyhash') {
    const key = data.publicKey(solutions[0]!);
    return key ? { pubkey: key.toHex() } : {};
  }
  const id = type === 'scripthash' ? solutions[0]! : type === 'witness_v0_scripthash' ? ripemd160(solutions[0]!) : null;
  const inner = id && data.script(id);
  return inner ? describeInner(inner, data, params) : {};
}

function describeInner(script: Uint8Array, data: SigningProvider, params: Format): Record<string, unknown> {
  const { type, solutions } = scriptType(script);
  const shown = { script: type, hex: script.toHex() };
  const address = addressOf(script, params.address);
  if (address !== null) {
    const known = describeKnown(script, data, params);
    const embedded = { ...describeScript(script), ...known, address, scriptPubKey: script.toHex() };
    return { ...shown, ...('pubkey' in known && { pubkey: known.pubkey }), embedded };
  }
  if (type !== 'multisig') return shown;
  return {
    ...shown,
    sigsrequired: solutions[0]![0],
    pubkeys: solutions.slice(1, -1).map((key) => key.toHex()),
  };
}

/** Returns the origin of the single key of an output script; null if it has no single key or the origin is unknown. */
export function originOf(script: Uint8Array, data: SigningProvider): KeyOrigin | null {
  const { type, solutions } = scriptType(script);
  if (type === 'pubkeyhash' || type === 'witness_v0_keyhash') return data.keyOrigin(solutions[0]!);
  if (type === 'pubkey') return data.keyOrigin(hash160(solutions[0]!));
  if (type === 'scripthash') {
    const inner = data.script(solutions[0]!);
    const template = inner && scriptType(inner);
    return template?.type === 'witness_v0_keyhash' ? data.keyOrigin(template.solutions[0]!) : null;
  }
  const taproot = type === 'witness_v1_taproot' ? data.taproot(solutions[0]!) : null;
  return taproot?.merkleRoot === null ? keyOriginOfXOnly(data, taproot.internalKey) : null;
}

/** Returns the derivation path of a key, such as `m/84h/0h/0h/0/5`. */
export function pathText({ path }: KeyOrigin): string {
  return `m${formatKeyPath(path)}`;
}
