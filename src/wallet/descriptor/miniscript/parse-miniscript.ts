import { pushNumber } from '../../../script/script-builder.ts';
import { MAX_PUBKEYS_PER_MULTISIG } from '../../../script/script-limits.ts';
import { hexToBytes, isHex } from '../../../util/bytes.ts';
import { ExpressionReader } from '../expression-reader.ts';
import {
  type Fragment,
  HASH_SIZES,
  HASHES,
  MAX_PUBKEYS_PER_MULTI_A,
  type MiniscriptContext,
  maxScriptSize,
  type Wrapper,
} from './fragment.ts';
import { MiniscriptNode, type NodeParts } from './miniscript-node.ts';
import { has } from './type.ts';

/** Parses a key, and returns its number in the tree. It may throw. */
export type ReadKey = (text: string) => number;

/** A step of the parser, which returns false if the text is not miniscript. */
type Step = () => boolean;

/** Bytes that a function adds to the script, including those that its subexpressions were counted short of. */
const COMBINED_SIZES: readonly (readonly [name: string, fragment: Fragment, size: number])[] = [
  ['and_b', 'and_b', 2],
  ['and_v', 'and_v', 1],
  ['or_b', 'or_b', 2],
  ['or_c', 'or_c', 3],
  ['or_d', 'or_d', 4],
  ['or_i', 'or_i', 4],
];
const WRAPPER_SIZES: Readonly<Record<Wrapper, number>> = { a: 2, s: 1, c: 1, d: 3, v: 0, j: 4, n: 1 };
const MAX_LOCK = 0x7fff_ffff;

/** Parses a miniscript; null where the text is not one. The node shows whether it is valid and sane. */
export function parseMiniscript(text: string, context: MiniscriptContext, readKey: ReadKey): MiniscriptNode | null {
  return new MiniscriptParser(text, context, readKey).parse();
}

/**
 * Parses without recursion, since expressions may be nested as deep as a script is long. The script size is counted
 * while parsing, so that it stops early. Every expression is counted one byte short, which the enclosing function adds.
 */
class MiniscriptParser {
  readonly #reader: ExpressionReader;
  readonly #context: MiniscriptContext;
  readonly #readKey: ReadKey;
  readonly #nodes: MiniscriptNode[] = [];
  readonly #steps: Step[] = [() => this.#wrapped()];
  #size = 1;

  constructor(text: string, context: MiniscriptContext, readKey: ReadKey) {
    this.#reader = new ExpressionReader(text);
    this.#context = context;
    this.#readKey = readKey;
  }

  parse(): MiniscriptNode | null {
    const limit = maxScriptSize(this.#context);
    for (let step = this.#steps.pop(); step; step = this.#steps.pop()) if (this.#size > limit || !step()) return null;
    return this.#reader.done ? this.#nodes[0]! : null;
  }

  /** Makes a node; the last `count` nodes go into it. */
  #make(fragment: Fragment, count = 0, parts: Omit<NodeParts, 'subs'> = {}): true {
    const subs = this.#nodes.splice(this.#nodes.length - count);
    this.#nodes.push(new MiniscriptNode(fragment, this.#context, { ...parts, subs }));
    return true;
  }

  /** Reads the wrappers, if any, and the expression behind them. */
  #wrapped(): boolean {
    const [, wrappers = ''] = /^(.[a-z]*):/.exec(this.#reader.rest) ?? [];
    const limit = maxScriptSize(this.#context);
    let last = '';
    for (const wrapper of wrappers) {
      if (this.#size > limit) return false;
      // A second `v` is never valid, and would not add to the size.
      if (wrapper === 'v' && last === 'v') return false;
      if (!this.#wrapper(wrapper)) return false;
      last = wrapper;
    }
    if (wrappers !== '') this.#reader.rest = this.#reader.rest.slice(wrappers.length + 1);
    this.#steps.push(() => this.#expression());
    return true;
  }

  #wrapper(wrapper: string): boolean {
    switch (wrapper) {
      case 'a':
      case 's':
      case 'c':
      case 'd':
      case 'j':
      case 'n':
        this.#size += WRAPPER_SIZES[wrapper];
        this.#steps.push(() => this.#make(wrapper, 1));
        return true;
      case 'v':
        this.#steps.push(() => {
          if (has(this.#nodes.at(-1)!.type, 'x')) this.#size++;
          return this.#make('v', 1);
        });
        return true;
      case 'u':
        this.#size += 4;
        this.#steps.push(() => this.#make('0') && this.#make('or_i', 2));
        return true;
      case 't':
        this.#size += 1;
        this.#steps.push(() => this.#make('1') && this.#make('and_v', 2));
        return true;
      case 'l':
        this.#size += 4;
        this.#make('0');
        this.#steps.push(() => this.#make('or_i', 2));
        return true;
      default:
        return false;
    }
  }

  #expression(): boolean {
    const reader = this.#reader;
    if (reader.skip('0')) return this.#make('0');
    if (reader.skip('1')) return this.#make('1');
    const isTapscript = this.#context === 'tapscript';
    for (const [name, fragment, size] of [
      ['pk', 'pk_k', isTapscript ? 33 : 34],
      ['pkh', 'pk_h', 24],
    ] as const)
      if (reader.rest.startsWith(`${name}(`)) return this.#key(name, fragment, size) && this.#make('c', 1);
    if (reader.rest.startsWith('pk_k(')) return this.#key('pk_k', 'pk_k', isTapscript ? 32 : 33);
    if (reader.rest.startsWith('pk_h(')) return this.#key('pk_h', 'pk_h', 23);
    for (const hash of HASHES) if (reader.rest.startsWith(`${hash}(`)) return this.#hash(hash);
    for (const lock of ['after', 'older'] as const) if (reader.rest.startsWith(`${lock}(`)) return this.#lock(lock);
    if (reader.skip('multi(')) return this.#multi('multi');
    if (reader.skip('multi_a(')) return this.#multi('multi_a');
    if (reader.skip('thresh(')) return this.#thresh();
    if (reader.skip('andor(')) return this.#combination(3, 5, () => this.#make('andor', 3));
    if (reader.skip('and_n(')) return this.#combination(2, 5, () => this.#make('0') && this.#make('andor', 3));
    for (const [name, fragment, size] of COMBINED_SIZES)
      if (reader.skip(`${name}(`)) return this.#combination(2, size, () => this.#make(fragment, 2));
    return false;
  }

  /** Reads the argument of `name(…)`; null if there is none. */
  #argument(name: string): string | null {
    const inner = new ExpressionReader(this.#reader.argument());
    return inner.enter(name) ? inner.rest : null;
  }

  #key(name: string, fragment: 'pk_k' | 'pk_h', size: number): boolean {
    const text = this.#argument(name);
    if (text === null) return false;
    this.#size += size;
    return this.#make(fragment, 0, { keys: [this.#readKey(text)] });
  }

  #hash(hash: keyof typeof HASH_SIZES): boolean {
    const hex = this.#argument(hash);
    if (hex === null || !isHex(hex) || hex.length !== HASH_SIZES[hash] * 2) return false;
    this.#size += HASH_SIZES[hash] + 6;
    return this.#make(hash, 0, { data: hexToBytes(hex) });
  }

  #lock(lock: 'after' | 'older'): boolean {
    const k = readNumber(this.#argument(lock));
    if (k < 1 || k > MAX_LOCK) return false;
    this.#size += pushNumber(k).length;
    return this.#make(lock, 0, { k });
  }

  /** Reads a number and a comma; 0 if there is none. */
  #threshold(): number {
    const { rest } = this.#reader;
    const comma = nextChar(rest, ',');
    if (comma < 1) return 0;
    this.#reader.rest = rest.slice(comma + 1);
    return readNumber(rest.slice(0, comma));
  }

  #multi(fragment: 'multi' | 'multi_a'): boolean {
    const isMultiA = fragment === 'multi_a';
    if (isMultiA !== (this.#context === 'tapscript')) return false;
    const k = this.#threshold();
    if (k < 1) return false;
    const keys: number[] = [];
    for (let isLast = false; !isLast; ) {
      const { rest } = this.#reader;
      const comma = nextChar(rest, ',');
      isLast = comma < 0;
      const end = isLast ? nextChar(rest, ')') : comma;
      if (end < 1) return false;
      keys.push(this.#readKey(rest.slice(0, end)));
      this.#reader.rest = rest.slice(end + 1);
    }
    if (keys.length > (isMultiA ? MAX_PUBKEYS_PER_MULTI_A : MAX_PUBKEYS_PER_MULTISIG) || k > keys.length) return false;
    this.#size += pushNumber(k).length + 34 * keys.length + (isMultiA ? 0 : pushNumber(keys.length).length);
    return this.#make(fragment, 0, { k, keys });
  }

  #thresh(): boolean {
    const k = this.#threshold();
    if (k < 1) return false;
    this.#size += 1 + pushNumber(Math.min(k, MAX_LOCK)).length;
    let count = 0;
    const next: Step = () => {
      count++;
      if (this.#reader.skip(',')) {
        this.#size += 2;
        this.#steps.push(next, () => this.#wrapped());
        return true;
      }
      return this.#reader.skip(')') && k <= count && this.#make('thresh', count, { k });
    };
    this.#steps.push(next, () => this.#wrapped());
    return true;
  }

  /** Reads `count` expressions with commas between them, and a closing bracket. */
  #combination(count: number, size: number, make: Step): boolean {
    this.#size += size;
    this.#steps.push(make, () => this.#reader.skip(')'));
    for (let i = 0; i < count; i++) {
      if (i > 0) this.#steps.push(() => this.#reader.skip(','));
      this.#steps.push(() => this.#wrapped());
    }
    return true;
  }
}

/** Returns 0 for text that is not a number. Zero is never allowed. */
function readNumber(text: string | null): number {
  return text !== null && /^\d{1,19}$/.test(text) ? Number(text) : 0;
}

/** Returns the position of a character within the current brackets; -1 without one. */
function nextChar(text: string, char: string): number {
  for (let i = 0; i < text.length; i++) {
    if (text[i] === char) return i;
    if (text[i] === ')') break;
  }
  return -1;
}
