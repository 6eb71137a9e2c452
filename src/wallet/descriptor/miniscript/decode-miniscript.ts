import { Op } from '../../../script/opcodes.ts';
import { MAX_PUBKEYS_PER_MULTISIG } from '../../../script/script-limits.ts';
import { readScriptNum } from '../../../script/script-num.ts';
import { isMinimalPush, readOperations } from '../../../script/script-reader.ts';
import {
  type Fragment,
  HASH_SIZES,
  type HashFragment,
  MAX_PUBKEYS_PER_MULTI_A,
  type MiniscriptContext,
  maxScriptSize,
} from './fragment.ts';
import { MiniscriptNode, type NodeParts } from './miniscript-node.ts';

/** Returns the numbers of keys in the tree; null for a key that is not allowed there. */
export interface KeyFinder {
  findKey(bytes: Uint8Array): number | null;
  findKeyHash(hash20: Uint8Array): number | null;
}

/** An opcode with the bytes it pushes, if any; OP_1 to OP_16 push too. */
interface Item {
  readonly opcode: number;
  readonly data: Uint8Array;
}

type Step = () => boolean;

const NO_DATA = new Uint8Array(0);
const COMPRESSED_SIZE = 33;
const X_ONLY_SIZE = 32;
const HASH_SIZE = 20;
const MAX_LOCK = 0x7fff_ffff;

/** Opcodes with a VERIFY form, which is read as two opcodes. */
const VERIFY_FORMS: ReadonlyMap<number, number> = new Map([
  [Op.OP_CHECKSIGVERIFY, Op.OP_CHECKSIG],
  [Op.OP_CHECKMULTISIGVERIFY, Op.OP_CHECKMULTISIG],
  [Op.OP_EQUALVERIFY, Op.OP_EQUAL],
  [Op.OP_NUMEQUALVERIFY, Op.OP_NUMEQUAL],
]);
const HAVE_VERIFY_FORM: ReadonlySet<number> = new Set(VERIFY_FORMS.values());

const HASHES_BY_OP: ReadonlyMap<number, HashFragment> = new Map([
  [Op.OP_SHA256, 'sha256'],
  [Op.OP_RIPEMD160, 'ripemd160'],
  [Op.OP_HASH256, 'hash256'],
  [Op.OP_HASH160, 'hash160'],
]);

/** Returns the expression of a script that is valid at the top; null if there is none. */
export function decodeMiniscript(
  script: Uint8Array,
  context: MiniscriptContext,
  keys: KeyFinder,
): MiniscriptNode | null {
  if (script.length > maxScriptSize(context)) return null;
  const items = readItems(script);
  return items && new MiniscriptDecoder(items, context, keys).decode();
}

/**
 * Returns the opcodes from last to first. Returns null for a push that is not minimal, and for an OP_VERIFY that has a
 * combined form.
 */
function readItems(script: Uint8Array): Item[] | null {
  const items: Item[] = [];
  for (const operation of readOperations(script)) {
    if (operation === null) return null;
    const { opcode, data } = operation;
    const form = VERIFY_FORMS.get(opcode);
    if (form !== undefined) items.push({ opcode: form, data: NO_DATA }, { opcode: Op.OP_VERIFY, data: NO_DATA });
    else if (opcode >= Op.OP_1 && opcode <= Op.OP_16) items.push({ opcode, data: Uint8Array.of(opcode - Op.OP_1 + 1) });
    else if (opcode <= Op.OP_PUSHDATA4) {
      if (!isMinimalPush(opcode, data, 0, data.length)) return null;
      items.push({ opcode, data });
    } else if (opcode === Op.OP_VERIFY && HAVE_VERIFY_FORM.has(items.at(-1)?.opcode ?? -1)) return null;
    else items.push({ opcode, data: NO_DATA });
  }
  return items.reverse();
}

/** Reads a script from its end, where the opcodes identify an expression. Without recursion, like the parser. */
class MiniscriptDecoder {
  readonly #items: readonly Item[];
  readonly #context: MiniscriptContext;
  readonly #keys: KeyFinder;
  readonly #nodes: MiniscriptNode[] = [];
  readonly #steps: Step[] = [];
  #at = 0;

  constructor(items: readonly Item[], context: MiniscriptContext, keys: KeyFinder) {
    this.#items = items;
    this.#context = context;
    this.#keys = keys;
  }

  decode(): MiniscriptNode | null {
    this.#steps.push(() => this.#sequence());
    for (let step = this.#steps.pop(); step; step = this.#steps.pop()) {
      // An invalid expression cannot become valid.
      if (this.#nodes.at(-1)?.isValid === false || !step()) return null;
    }
    const [root] = this.#nodes;
    return this.#nodes.length === 1 && this.#at === this.#items.length && root!.isValidTopLevel ? root! : null;
  }

  #op(ahead = 0): number {
    return this.#items[this.#at + ahead]?.opcode ?? -1;
  }

  #data(ahead: number): Uint8Array {
    return this.#items[this.#at + ahead]?.data ?? NO_DATA;
  }

  /** Returns the pushed number; null if the item pushes none. */
  #number(ahead: number): number | null {
    if (this.#op(ahead) === Op.OP_0) return 0;
    const data = this.#data(ahead);
    return data.length === 0 ? null : readScriptNum(data, true);
  }

  #skip(opcode: number): boolean {
    if (this.#op() !== opcode) return false;
    this.#at++;
    return true;
  }

  /** Makes a node. The last `count` nodes go into it, the last first: they were read from the end. */
  #make(fragment: Fragment, count = 0, parts: Omit<NodeParts, 'subs'> = {}): boolean {
    if (this.#nodes.length < count) return false;
    const subs = this.#nodes.splice(this.#nodes.length - count).reverse();
    this.#nodes.push(new MiniscriptNode(fragment, this.#context, { ...parts, subs }));
    return true;
  }

  /** Makes a leaf of as many items. */
  #consume(items: number, fragment: Fragment, parts: Omit<NodeParts, 'subs'> = {}): boolean {
    this.#at += items;
    return this.#make(fragment, 0, parts);
  }

  /** Reads `then`'s expressions, the first of them first, and then does `finish`. */
  #read(finish: Step, ...then: readonly Step[]): boolean {
    this.#steps.push(finish, ...then.toReversed());
    return true;
  }

  /** Reads an expression, and those before it that and_v() joins. */
  #sequence(): boolean {
    return this.#read(
      () => this.#maybeAndV(),
      () => this.#single(),
    );
  }

  #maybeAndV(): boolean {
    // No expression ends with these opcodes, or before the start of the script.
    const ends = [-1, Op.OP_IF, Op.OP_ELSE, Op.OP_NOTIF, Op.OP_TOALTSTACK, Op.OP_SWAP];
    if (ends.includes(this.#op())) return true;
    return this.#read(
      () => this.#make('and_v', 2),
      () => this.#sequence(),
    );
  }

  /** Reads a second argument with the wrapper `a:` or `s:`. */
  #wrapped(): boolean {
    if (this.#op() < 0) return false;
    const [first, fragment] = this.#skip(Op.OP_FROMALTSTACK)
      ? ([Op.OP_TOALTSTACK, 'a'] as const)
      : ([Op.OP_SWAP, 's'] as const);
    return this.#read(
      () => this.#skip(first) && this.#make(fragment, 1),
      () => this.#sequence(),
    );
  }

  /** Reads an expression that is neither and_v() nor a second argument. */
  #single(): boolean {
    const op = this.#op();
    if (op === Op.OP_1) return this.#consume(1, '1');
    if (op === Op.OP_0) return this.#consume(1, '0');
    const { length } = this.#data(0);
    if (length === COMPRESSED_SIZE || length === X_ONLY_SIZE) return this.#key();
    if (
      op === Op.OP_VERIFY &&
      this.#op(1) === Op.OP_EQUAL &&
      this.#data(2).length === HASH_SIZE &&
      this.#op(3) === Op.OP_HASH160 &&
      this.#op(4) === Op.OP_DUP
    )
      return this.#keyHash();
    const number = this.#number(1);
    if (op === Op.OP_CHECKSEQUENCEVERIFY && number !== null) return this.#lock('older', number);
    if (op === Op.OP_CHECKLOCKTIMEVERIFY && number !== null) return this.#lock('after', number);
    const hash = this.#hash();
    if (hash !== null) return this.#consume(7, hash, { data: this.#data(1) });
    const left = this.#items.length - this.#at;
    if (op === Op.OP_CHECKMULTISIG && left >= 3) return this.#multi();
    if (op === Op.OP_NUMEQUAL && left >= 4) return this.#multiA();
    return this.#combined();
  }

  #key(): boolean {
    const key = this.#keys.findKey(this.#data(0));
    return key !== null && this.#consume(1, 'pk_k', { keys: [key] });
  }

  #keyHash(): boolean {
    const key = this.#keys.findKeyHash(this.#data(2));
    return key !== null && this.#consume(5, 'pk_h', { keys: [key] });
  }

  #lock(fragment: 'older' | 'after', k: number): boolean {
    return k >= 1 && k <= MAX_LOCK && this.#consume(2, fragment, { k });
  }

  #hash(): HashFragment | null {
    if (this.#op() !== Op.OP_EQUAL || this.#op(3) !== Op.OP_VERIFY || this.#op(4) !== Op.OP_EQUAL) return null;
    if (this.#number(5) !== 32 || this.#op(6) !== Op.OP_SIZE) return null;
    const hash = HASHES_BY_OP.get(this.#op(2));
    return hash !== undefined && this.#data(1).length === HASH_SIZES[hash] ? hash : null;
  }

  #multi(): boolean {
    if (this.#context === 'tapscript') return false;
    const count = this.#number(1);
    if (count === null || count < 1 || count > MAX_PUBKEYS_PER_MULTISIG) return false;
    const keys: number[] = [];
    for (let i = 0; i < count; i++) {
      const bytes = this.#data(2 + i);
      const key = bytes.length === COMPRESSED_SIZE ? this.#keys.findKey(bytes) : null;
      if (key === null) return false;
      keys.push(key);
    }
    const k = this.#number(2 + count);
    if (k === null || k < 1 || k > count) return false;
    return this.#consume(3 + count, 'multi', { k, keys: keys.reverse() });
  }

  #multiA(): boolean {
    if (this.#context !== 'tapscript') return false;
    const k = this.#number(1);
    if (k === null || k < 1 || k > MAX_PUBKEYS_PER_MULTI_A) return false;
    const keys: number[] = [];
    for (let isLast = false; !isLast; ) {
      const op = this.#op(2 + 2 * keys.length);
      const bytes = this.#data(3 + 2 * keys.length);
      if (op !== Op.OP_CHECKSIGADD && op !== Op.OP_CHECKSIG) return false;
      const key = bytes.length === X_ONLY_SIZE ? this.#keys.findKey(bytes) : null;
      if (key === null) return false;
      keys.push(key);
      if (keys.length > MAX_PUBKEYS_PER_MULTI_A) return false;
      isLast = op === Op.OP_CHECKSIG;
    }
    return keys.length >= k && this.#consume(2 + 2 * keys.length, 'multi_a', { k, keys: keys.reverse() });
  }

  /**
   * Builds expressions with others in them. An and_v() that commutes with its surroundings is read outside of these.
   */
  #combined(): boolean {
    const single = () => this.#single();
    if (this.#skip(Op.OP_CHECKSIG)) return this.#read(() => this.#make('c', 1), single);
    if (this.#skip(Op.OP_VERIFY)) return this.#read(() => this.#make('v', 1), single);
    if (this.#skip(Op.OP_0NOTEQUAL)) return this.#read(() => this.#make('n', 1), single);
    if (this.#op() === Op.OP_EQUAL) return this.#thresh();
    if (this.#skip(Op.OP_ENDIF))
      return this.#read(
        () => this.#endif(),
        () => this.#sequence(),
      );
    const wrapped = () => this.#wrapped();
    if (this.#skip(Op.OP_BOOLAND)) return this.#read(() => this.#make('and_b', 2), wrapped, single);
    if (this.#skip(Op.OP_BOOLOR)) return this.#read(() => this.#make('or_b', 2), wrapped, single);
    return false;
  }

  #thresh(): boolean {
    const k = this.#number(1);
    if (k === null || k < 1) return false;
    this.#at += 2;
    let count = 0;
    const next: Step = () => {
      if (this.#op() < 0) return false;
      count++;
      if (this.#skip(Op.OP_ADD)) return this.#read(next, () => this.#wrapped());
      return this.#read(
        () => k <= count && this.#make('thresh', count, { k }),
        () => this.#single(),
      );
    };
    return next();
  }

  /** Reads what precedes the last expression before an OP_ENDIF. */
  #endif(): boolean {
    if (this.#skip(Op.OP_ELSE))
      return this.#read(
        () => this.#else(),
        () => this.#sequence(),
      );
    if (this.#skip(Op.OP_NOTIF)) {
      const fragment = this.#skip(Op.OP_IFDUP) ? 'or_d' : 'or_c';
      return (
        this.#op() >= 0 &&
        this.#read(
          () => this.#make(fragment, 2),
          () => this.#single(),
        )
      );
    }
    if (!this.#skip(Op.OP_IF)) return false;
    if (this.#skip(Op.OP_DUP)) return this.#make('d', 1);
    return this.#skip(Op.OP_0NOTEQUAL) && this.#skip(Op.OP_SIZE) && this.#make('j', 1);
  }

  /** Reads what precedes the first of two expressions with an OP_ELSE between them. */
  #else(): boolean {
    if (this.#skip(Op.OP_IF)) return this.#make('or_i', 2);
    if (!this.#skip(Op.OP_NOTIF)) return false;
    return this.#read(
      () => {
        if (this.#nodes.length < 3) return false;
        // The script has the third one before the second.
        const [second, third, first] = this.#nodes.splice(-3);
        this.#nodes.push(third!, second!, first!);
        return this.#make('andor', 3);
      },
      () => this.#single(),
    );
  }
}
