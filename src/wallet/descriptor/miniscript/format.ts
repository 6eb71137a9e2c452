import { Op } from '../../../script/opcodes.ts';
import { pushData, pushNumber } from '../../../script/script-builder.ts';
import { assert } from '../../../util/assert.ts';
import { ByteWriter, bytesToHex } from '../../../util/bytes.ts';
import { type Fragment, type HashFragment, WRAPPERS } from './fragment.ts';
import type { MiniscriptNode } from './miniscript-node.ts';
import { has } from './type.ts';

const isWrapper = (fragment: Fragment) => (WRAPPERS as readonly string[]).includes(fragment);

/** Parts of a text in order: finished texts, and expressions that follow. */
type TextPart = string | { readonly node: MiniscriptNode; readonly wrapped: boolean } | null;

/** Returns the shortest text of an expression; null if `formatKey` returns null for one of its keys. */
export function formatMiniscript(root: MiniscriptNode, formatKey: (key: number) => string | null): string | null {
  let text = '';
  const todo: TextPart[] = [{ node: root, wrapped: false }];
  for (let part = todo.pop(); part !== undefined; part = todo.pop()) {
    if (part === null) return null;
    if (typeof part === 'string') text += part;
    else todo.push(...textParts(part.node, part.wrapped, formatKey).reverse());
  }
  return text;
}

/** Returns the parts of an expression. `wrapped` says whether wrappers precede it, which a colon ends. */
function textParts(
  { fragment, subs, keys, k, data }: MiniscriptNode,
  wrapped: boolean,
  formatKey: (key: number) => string | null,
): TextPart[] {
  const wrapper = (letter: string, node: MiniscriptNode): TextPart[] => [letter, { node, wrapped: true }];
  const call = (name: string, ...args: TextPart[]): TextPart[] => [
    `${wrapped ? ':' : ''}${name}(`,
    ...args.flatMap((arg, i) => (i === 0 ? [arg] : [',', arg])),
    ')',
  ];
  const inner = subs.map((node): TextPart => ({ node, wrapped: false }));
  const [x, y, z] = subs;
  if (fragment === 'c' && x!.fragment === 'pk_k') return call('pk', formatKey(x!.keys[0]!));
  if (fragment === 'c' && x!.fragment === 'pk_h') return call('pkh', formatKey(x!.keys[0]!));
  if (isWrapper(fragment)) return wrapper(fragment, x!);
  if (fragment === 'and_v' && y!.fragment === '1') return wrapper('t', x!);
  if (fragment === 'or_i' && x!.fragment === '0') return wrapper('l', y!);
  if (fragment === 'or_i' && y!.fragment === '0') return wrapper('u', x!);
  if (fragment === 'andor' && z!.fragment === '0') return call('and_n', inner[0]!, inner[1]!);
  switch (fragment) {
    case '0':
    case '1':
      return [`${wrapped ? ':' : ''}${fragment}`];
    case 'pk_k':
    case 'pk_h':
      return call(fragment, formatKey(keys[0]!));
    case 'older':
    case 'after':
      return call(fragment, String(k));
    case 'sha256':
    case 'ripemd160':
    case 'hash256':
    case 'hash160':
      return call(fragment, bytesToHex(data));
    case 'multi':
    case 'multi_a':
      return call(fragment, String(k), ...keys.map(formatKey));
    case 'thresh':
      return call(fragment, String(k), ...inner);
    default:
      return call(fragment, ...inner);
  }
}

/** Returns the bytes of a key in the script: the key itself, or its HASH160 for pk_h(). */
export interface KeyBytes {
  key(key: number): Uint8Array;
  keyHash(key: number): Uint8Array;
}

const HASH_OPS: Readonly<Record<HashFragment, number>> = {
  sha256: Op.OP_SHA256,
  ripemd160: Op.OP_RIPEMD160,
  hash256: Op.OP_HASH256,
  hash160: Op.OP_HASH160,
};

/** Opcodes as numbers, pushes as bytes with their length, and expressions that follow. */
type ScriptPart = number | Uint8Array | MiniscriptNode | 'verify';

/** Returns the script of an expression. */
export function miniscriptScript(root: MiniscriptNode, keys: KeyBytes): Uint8Array {
  const w = new ByteWriter(root.scriptSize);
  const todo: ScriptPart[] = [root];
  for (let part = todo.pop(); part !== undefined; part = todo.pop()) {
    if (typeof part === 'number') w.u8(part);
    else if (part instanceof Uint8Array) w.bytes(part);
    // An opcode that ends such an expression has its VERIFY form.
    else if (part === 'verify') w.finish()[w.length - 1]! += 1;
    else todo.push(...scriptParts(part, keys).reverse());
  }
  assert(w.length === root.scriptSize, 'a script is as long as its expression says');
  return w.finish();
}

function scriptParts({ fragment, subs, keys, k, data }: MiniscriptNode, bytes: KeyBytes): ScriptPart[] {
  const [x, y, z] = subs as readonly [MiniscriptNode, MiniscriptNode, MiniscriptNode];
  switch (fragment) {
    case '0':
      return [Op.OP_0];
    case '1':
      return [Op.OP_1];
    case 'pk_k':
      return [pushData(bytes.key(keys[0]!))];
    case 'pk_h':
      return [Op.OP_DUP, Op.OP_HASH160, pushData(bytes.keyHash(keys[0]!)), Op.OP_EQUALVERIFY];
    case 'older':
      return [pushNumber(k), Op.OP_CHECKSEQUENCEVERIFY];
    case 'after':
      return [pushNumber(k), Op.OP_CHECKLOCKTIMEVERIFY];
    case 'sha256':
    case 'ripemd160':
    case 'hash256':
    case 'hash160':
      return [Op.OP_SIZE, pushNumber(32), Op.OP_EQUALVERIFY, HASH_OPS[fragment], pushData(data), Op.OP_EQUAL];
    case 'a':
      return [Op.OP_TOALTSTACK, x, Op.OP_FROMALTSTACK];
    case 's':
      return [Op.OP_SWAP, x];
    case 'c':
      return [x, Op.OP_CHECKSIG];
    case 'd':
      return [Op.OP_DUP, Op.OP_IF, x, Op.OP_ENDIF];
    case 'v':
      return [x, has(x.type, 'x') ? Op.OP_VERIFY : 'verify'];
    case 'j':
      return [Op.OP_SIZE, Op.OP_0NOTEQUAL, Op.OP_IF, x, Op.OP_ENDIF];
    case 'n':
      return [x, Op.OP_0NOTEQUAL];
    case 'and_v':
      return [x, y];
    case 'and_b':
      return [x, y, Op.OP_BOOLAND];
    case 'or_b':
      return [x, y, Op.OP_BOOLOR];
    case 'or_d':
      return [x, Op.OP_IFDUP, Op.OP_NOTIF, y, Op.OP_ENDIF];
    case 'or_c':
      return [x, Op.OP_NOTIF, y, Op.OP_ENDIF];
    case 'or_i':
      return [Op.OP_IF, x, Op.OP_ELSE, y, Op.OP_ENDIF];
    case 'andor':
      return [x, Op.OP_NOTIF, z, Op.OP_ELSE, y, Op.OP_ENDIF];
    case 'multi':
      return [
        pushNumber(k),
        ...keys.map((key) => pushData(bytes.key(key))),
        pushNumber(keys.length),
        Op.OP_CHECKMULTISIG,
      ];
    case 'multi_a':
      return [
        ...keys.flatMap((key, i) => [pushData(bytes.key(key)), i === 0 ? Op.OP_CHECKSIG : Op.OP_CHECKSIGADD]),
        pushNumber(k),
        Op.OP_NUMEQUAL,
      ];
    case 'thresh':
      return [...subs.flatMap((sub, i) => (i === 0 ? [sub] : [sub, Op.OP_ADD])), pushNumber(k), Op.OP_EQUAL];
  }
}
