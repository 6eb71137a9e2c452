import { hasPublicKeyShape } from '../../crypto/curve.ts';
import { hash160, ripemd160 } from '../../crypto/hash-functions.ts';
import { signatureEngine } from '../../crypto/secp256k1.ts';
import { Op } from '../../script/opcodes.ts';
import { readScriptNum } from '../../script/script-num.ts';
import { isMinimalPush, readOperations } from '../../script/script-reader.ts';
import { TAPROOT_LEAF_TAPSCRIPT } from '../../script/taproot.ts';
import { scriptType } from '../../script/templates.ts';
import { keyOriginOfXOnly, type SigningProvider } from '../keys/signing-data.ts';
import type { Descriptor, KeyEncoding } from './descriptor.ts';
import type { DescriptorNode } from './descriptor-node.ts';
import { ConstantKey, type KeyExpression, OriginKey } from './key-expression.ts';
import { PkhNode, PkNode, RawTrNode, WpkhNode } from './key-nodes.ts';
import { decodeMiniscript } from './miniscript/decode-miniscript.ts';
import { MAX_PUBKEYS_PER_MULTI_A, type MiniscriptContext } from './miniscript/fragment.ts';
import { markDuplicateKeys } from './miniscript/miniscript-node.ts';
import { keyIdentity, MiniscriptDescriptor } from './miniscript-descriptor.ts';
import type { ParseContext } from './parse-state.ts';
import { MultiANode, MultiNode, OutputNode, ShNode, TrNode, WshNode } from './script-nodes.ts';
import { inferTaprootTree } from './taproot-tree.ts';

interface Inference {
  readonly provider: SigningProvider;
  readonly encoding: KeyEncoding;
}

/**
 * Returns the descriptor of a script, with the keys, scripts and key origins that the provider knows; without these
 * addr() or raw().
 */
export function inferDescriptor(script: Uint8Array, provider: SigningProvider, encoding: KeyEncoding): Descriptor {
  return (
    inferScript(script, 'top', { provider, encoding }) ??
    OutputNode.address(script, encoding.address) ??
    OutputNode.raw(script)
  );
}

/** Returns null if the provider cannot solve the script. */
function inferScript(script: Uint8Array, context: ParseContext, inference: Inference): DescriptorNode | null {
  if (context === 'tr') return inferLeaf(script, inference);
  const node = inferTemplate(script, context, inference);
  return node ?? (context === 'wsh' ? inferMiniscript(script, 'p2wsh', inference) : null);
}

/** Infers a script of a standard form. */
function inferTemplate(script: Uint8Array, context: ParseContext, inference: Inference): DescriptorNode | null {
  const { provider } = inference;
  const { type, solutions } = scriptType(script);
  const [first] = solutions;
  const isTopOrSh = context === 'top' || context === 'sh';
  const knownKey = (inner: ParseContext) => {
    const publicKey = provider.publicKey(first!);
    return publicKey && inferKey(publicKey, inner, inference);
  };
  switch (type) {
    case 'pubkey': {
      const key = inferKey(first!, context, inference);
      return key && new PkNode(key);
    }
    case 'pubkeyhash': {
      const key = knownKey(context);
      return key && new PkhNode(key);
    }
    case 'witness_v0_keyhash': {
      const key = isTopOrSh ? knownKey('wpkh') : null;
      return key && new WpkhNode(key);
    }
    case 'multisig': {
      const keys = solutions.slice(1, -1).map((key) => inferKey(key, context, inference));
      return allKnown(keys) ? new MultiNode(first![0]!, keys, false) : null;
    }
    case 'scripthash': {
      const inner = context === 'top' ? provider.script(first!) : null;
      const node = inner && inferScript(inner, 'sh', inference);
      return node && new ShNode(node);
    }
    case 'witness_v0_scripthash': {
      const inner = isTopOrSh ? provider.script(ripemd160(first!)) : null;
      const node = inner && inferScript(inner, 'wsh', inference);
      return node && new WshNode(node);
    }
    case 'witness_v1_taproot':
      return context === 'top' ? inferTaproot(first!, inference) : null;
    default:
      return null;
  }
}

function inferTaproot(outputKey: Uint8Array, inference: Inference): DescriptorNode | null {
  const data = inference.provider.taproot(outputKey);
  const tree = data && inferTaprootTree(data, outputKey);
  if (data && tree) {
    const nodes = tree.map(({ leafVersion, script }) =>
      leafVersion === TAPROOT_LEAF_TAPSCRIPT ? inferScript(script, 'tr', inference) : null,
    );
    const depths = tree.map(({ depth }) => depth);
    if (allKnown(nodes)) return new TrNode(inferXOnlyKey(data.internalKey, inference), nodes, depths);
  }
  const key = evenKey(outputKey);
  return signatureEngine().isValidPublicKey(key) ? new RawTrNode(inferXOnlyKey(outputKey, inference)) : null;
}

/** Infers the script of a taproot leaf. */
function inferLeaf(script: Uint8Array, inference: Inference): DescriptorNode | null {
  if (script.length === 34 && script[0] === 32 && script[33] === Op.OP_CHECKSIG)
    return new PkNode(inferXOnlyKey(script.subarray(1, 33), inference), true);
  const multi = matchMultiA(script);
  if (multi !== null)
    return new MultiANode(
      multi.threshold,
      multi.keys.map((key) => inferXOnlyKey(key, inference)),
      false,
    );
  return inferMiniscript(script, 'tapscript', inference);
}

function inferMiniscript(script: Uint8Array, context: MiniscriptContext, inference: Inference): DescriptorNode | null {
  const keys: KeyExpression[] = [];
  const number = (key: KeyExpression | null) => (key === null ? null : keys.push(key) - 1);
  const inner = context === 'p2wsh' ? 'wsh' : 'tr';
  const root = decodeMiniscript(script, context, {
    findKey(bytes) {
      if (context === 'p2wsh') return number(inferKey(bytes, inner, inference));
      return bytes.length === 32 ? number(inferXOnlyKey(bytes, inference)) : null;
    },
    findKeyHash(hash) {
      const publicKey = inference.provider.publicKey(hash);
      return publicKey && number(inferKey(publicKey, inner, inference));
    },
  });
  if (root === null) return null;
  markDuplicateKeys(root, (key) => keyIdentity(keys[key]!));
  return root.isSane ? new MiniscriptDescriptor(keys, root) : null;
}

/** Returns null for a key that is not allowed in this context. */
function inferKey(
  publicKey: Uint8Array,
  context: ParseContext,
  { provider, encoding }: Inference,
): KeyExpression | null {
  if (!hasPublicKeyShape(publicKey) || publicKey[0]! > 4) return null;
  if (publicKey.length > 33 && context !== 'top' && context !== 'sh') return null;
  const key = new ConstantKey(0, publicKey, false, encoding);
  const origin = provider.keyOrigin(hash160(publicKey));
  return origin === null ? key : new OriginKey(origin, key, false);
}

function inferXOnlyKey(key32: Uint8Array, { provider, encoding }: Inference): KeyExpression {
  const key = new ConstantKey(0, evenKey(key32), true, encoding);
  const origin = keyOriginOfXOnly(provider, key32);
  return origin === null ? key : new OriginKey(origin, key, false);
}

function evenKey(key32: Uint8Array): Uint8Array {
  const key = new Uint8Array(33);
  key[0] = 2;
  key.set(key32, 1);
  return key;
}

function allKnown<T>(items: readonly (T | null)[]): items is readonly T[] {
  return items.every((item) => item !== null);
}

/** Core's MatchMultiA: `<key> CHECKSIG (<key> CHECKSIGADD)* <threshold> NUMEQUAL`. */
function matchMultiA(script: Uint8Array): { readonly threshold: number; readonly keys: readonly Uint8Array[] } | null {
  if (script.length === 0 || script[0] !== 32 || script.at(-1) !== Op.OP_NUMEQUAL) return null;
  const keys: Uint8Array[] = [];
  let at = 0;
  for (; script[at] === 32 && script.length - at >= 34; at += 34) {
    if (script[at + 33] !== (keys.length === 0 ? Op.OP_CHECKSIG : Op.OP_CHECKSIGADD)) return null;
    keys.push(script.subarray(at + 1, at + 33));
  }
  if (keys.length === 0 || keys.length > MAX_PUBKEYS_PER_MULTI_A) return null;
  const [number, end, ...more] = readOperations(script.subarray(at));
  if (!number || !end || more.length > 0 || end.opcode !== Op.OP_NUMEQUAL) return null;
  const threshold = multiThreshold(number.opcode, number.data);
  return threshold >= 1 && threshold <= keys.length ? { threshold, keys } : null;
}

/** Returns the threshold; -1 for anything but a minimally encoded number. */
function multiThreshold(opcode: number, data: Uint8Array): number {
  if (opcode >= Op.OP_1 && opcode <= Op.OP_16) return opcode - Op.OP_1 + 1;
  if (opcode > Op.OP_PUSHDATA4 || !isMinimalPush(opcode, data, 0, data.length)) return -1;
  return readScriptNum(data, true) ?? -1;
}
