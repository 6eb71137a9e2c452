import { pushNumber } from '../../../script/script-builder.ts';
import { MAX_OPS_PER_SCRIPT, MAX_STACK_SIZE } from '../../../script/script-limits.ts';
import { type Bounds, countOps, type OpCount, stackTraces, type Trace, witnessSizes } from './bounds.ts';
import { type Fragment, type MiniscriptContext, maxScriptSize } from './fragment.ts';
import { computeType, has, type Type } from './type.ts';

/** Maximum number of witness items of a standard P2WSH input. */
const MAX_P2WSH_STACK_ITEMS = 100;

/** Data of an expression besides its fragment. */
export interface NodeParts {
  readonly subs?: readonly MiniscriptNode[];
  /** Lock of older() or after(), or threshold of thresh(), multi() or multi_a(). */
  readonly k?: number;
  /** Numbers of its keys; the creator of the tree maps them to keys. */
  readonly keys?: readonly number[];
  /** Hash of a hash fragment. */
  readonly data?: Uint8Array;
}

const NO_DATA = new Uint8Array(0);

/** A miniscript expression (BIP-379) with the properties that follow from its parts. */
export class MiniscriptNode {
  readonly fragment: Fragment;
  readonly context: MiniscriptContext;
  readonly subs: readonly MiniscriptNode[];
  readonly k: number;
  readonly keys: readonly number[];
  readonly data: Uint8Array;
  readonly type: Type;
  /** Bytes of the script. */
  readonly scriptSize: number;
  readonly ops: OpCount;
  readonly stack: Bounds<Trace | null>;
  readonly witness: Bounds<number | null>;
  /** Whether a key stands in it twice; not known before `markDuplicateKeys`. */
  hasDuplicateKeys: boolean | null = null;

  constructor(fragment: Fragment, context: MiniscriptContext, parts: NodeParts = {}) {
    const { subs = [], k = 0, keys = [], data = NO_DATA } = parts;
    this.fragment = fragment;
    this.context = context;
    this.subs = subs;
    this.k = k;
    this.keys = keys;
    this.data = data;
    this.type = computeType(
      fragment,
      subs.map(({ type }) => type),
      k,
      context,
    );
    this.scriptSize = scriptSizeOf(this);
    this.ops = countOps(this);
    this.stack = stackTraces(this);
    this.witness = witnessSizes(this, context);
  }

  /** Maximum number of executed opcodes; null if it cannot be satisfied. */
  get opCount(): number | null {
    return this.ops.sat === null ? null : this.ops.count + this.ops.sat;
  }

  /** Number of stack items of the largest satisfaction; null if it cannot be satisfied. */
  get stackSize(): number | null {
    return this.stack.sat === null ? null : this.stack.sat.net + this.#result;
  }

  /** Maximum height of the stack; null if it cannot be satisfied. */
  get execStackSize(): number | null {
    return this.stack.sat === null ? null : this.stack.sat.peak + this.#result;
  }

  /** Bytes of the largest satisfaction without the script; null if it cannot be satisfied. */
  get witnessSize(): number | null {
    return this.witness.sat;
  }

  /** Number of items that it leaves on the stack. */
  get #result(): number {
    return has(this.type, 'V') || this.type === 0 ? 0 : 1;
  }

  get isSatisfiable(): boolean {
    return this.stackSize !== null;
  }

  get isValid(): boolean {
    return this.type !== 0 && this.scriptSize <= maxScriptSize(this.context);
  }

  get isValidTopLevel(): boolean {
    return this.isValid && has(this.type, 'B');
  }

  get isNonMalleable(): boolean {
    return has(this.type, 'm');
  }

  get needsSignature(): boolean {
    return has(this.type, 's');
  }

  /** Whether no way to satisfy it needs a time and a height that exclude each other. */
  get hasNoTimelockMix(): boolean {
    return has(this.type, 'k');
  }

  get isWithinOpLimit(): boolean {
    return this.context === 'tapscript' || (this.opCount ?? 0) <= MAX_OPS_PER_SCRIPT;
  }

  get isWithinStackLimit(): boolean {
    if (this.context === 'tapscript') return (this.execStackSize ?? 0) <= MAX_STACK_SIZE;
    return (this.stackSize ?? 0) <= MAX_P2WSH_STACK_ITEMS;
  }

  /** Whether what satisfies it is within the limits. */
  get hasValidSatisfactions(): boolean {
    return this.isValid && this.isWithinOpLimit && this.isWithinStackLimit;
  }

  get isSaneSubexpression(): boolean {
    return (
      this.hasValidSatisfactions && this.isNonMalleable && this.hasNoTimelockMix && this.hasDuplicateKeys === false
    );
  }

  /** Whether it is safe as a script of its own. */
  get isSane(): boolean {
    return this.isValidTopLevel && this.isSaneSubexpression && this.needsSignature;
  }
}

/**
 * Computes a value of each expression from those of its subexpressions, and returns that of the root. It does not
 * recurse, since expressions may be nested a hundred thousand deep.
 */
export function foldMiniscript<T>(root: MiniscriptNode, up: (node: MiniscriptNode, subs: readonly T[]) => T): T {
  const values: T[] = [];
  const todo: { readonly node: MiniscriptNode; done: number }[] = [{ node: root, done: 0 }];
  for (let top = todo.at(-1); top; top = todo.at(-1)) {
    const { node } = top;
    if (top.done < node.subs.length) todo.push({ node: node.subs[top.done++]!, done: 0 });
    else {
      const subs = values.splice(values.length - node.subs.length);
      values.push(up(node, subs));
      todo.pop();
    }
  }
  return values[0]!;
}

/** Sets `hasDuplicateKeys` in the whole tree. `identify` returns equal texts for equal keys. */
export function markDuplicateKeys(root: MiniscriptNode, identify: (key: number) => string): void {
  // The keys of an expression; null if one occurs twice.
  foldMiniscript<Set<string> | null>(root, (node, subs) => {
    const own = new Set(node.keys.map(identify));
    let keys: Set<string> | null = own.size === node.keys.length ? own : null;
    for (const sub of subs) keys = keys && sub && union(keys, sub);
    node.hasDuplicateKeys = keys === null;
    return keys;
  });
}

/** Merges two sets, which it may change. Returns null if they share a member. */
function union(a: Set<string>, b: Set<string>): Set<string> | null {
  const [large, small] = a.size < b.size ? [b, a] : [a, b];
  for (const member of small) {
    if (large.has(member)) return null;
    large.add(member);
  }
  return large;
}

/** Returns an expression that is not sane although all its subexpressions are; null if there is none. */
export function findInsane(root: MiniscriptNode): MiniscriptNode | null {
  return foldMiniscript<MiniscriptNode | null>(
    root,
    (node, subs) => subs.find((sub) => sub !== null) ?? (node.isSaneSubexpression ? null : node),
  );
}

function scriptSizeOf({ fragment, context, subs, k, keys }: MiniscriptNode): number {
  const size = subs.reduce((sum, sub) => sum + sub.scriptSize, 0);
  const numberSize = (value: number) => pushNumber(value).length;
  switch (fragment) {
    case '0':
    case '1':
      return 1;
    case 'pk_k':
      return context === 'tapscript' ? 33 : 34;
    case 'pk_h':
      return 24;
    case 'older':
    case 'after':
      return 1 + numberSize(k);
    case 'sha256':
    case 'hash256':
      return 39;
    case 'ripemd160':
    case 'hash160':
      return 27;
    case 'multi':
      return 1 + numberSize(keys.length) + numberSize(k) + 34 * keys.length;
    case 'multi_a':
      return 34 * keys.length + numberSize(k) + 1;
    case 'and_v':
      return size;
    case 'v':
      return size + (has(subs[0]!.type, 'x') ? 1 : 0);
    case 's':
    case 'c':
    case 'n':
    case 'and_b':
    case 'or_b':
      return size + 1;
    case 'a':
    case 'or_c':
      return size + 2;
    case 'd':
    case 'or_d':
    case 'or_i':
    case 'andor':
      return size + 3;
    case 'j':
      return size + 4;
    case 'thresh':
      return size + subs.length + numberSize(k);
  }
}
