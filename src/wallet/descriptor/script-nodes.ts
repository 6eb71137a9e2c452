import { WITNESS_SCALE_FACTOR } from '../../consensus/limits.ts';
import { type AddressFormat, addressOf } from '../../script/address.ts';
import { Op } from '../../script/opcodes.ts';
import { pushNumber, scriptOf } from '../../script/script-builder.ts';
import { TAPROOT_LEAF_TAPSCRIPT } from '../../script/taproot.ts';
import { multisig, p2shOf, p2tr, p2wshOf, scriptType } from '../../script/templates.ts';
import { bytesToHex, compareBytes, concatBytes } from '../../util/bytes.ts';
import type { SigningData } from '../keys/signing-data.ts';
import type { OutputType } from './descriptor.ts';
import { DescriptorNode, type KeyFormat } from './descriptor-node.ts';
import type { KeyExpression } from './key-expression.ts';
import { ecdsaSize, SCHNORR_SIZE, xOnly } from './key-nodes.ts';
import { buildTaproot } from './taproot-tree.ts';

/** addr() or raw(): an output of which only the script is known. */
export class OutputNode extends DescriptorNode {
  override readonly isSolvable = false;
  readonly #text: string;
  readonly #script: Uint8Array;

  private constructor(text: string, script: Uint8Array) {
    super([]);
    this.#text = text;
    this.#script = script;
  }

  static raw(script: Uint8Array): OutputNode {
    return new OutputNode(`raw(${bytesToHex(script)})`, script);
  }

  /** Returns null for a script without address. */
  static address(script: Uint8Array, format: AddressFormat): OutputNode | null {
    const address = addressOf(script, format);
    return address === null ? null : new OutputNode(`addr(${address})`, script);
  }

  format(): string {
    return this.#text;
  }

  protected makeScripts(): Uint8Array[] {
    return [this.#script];
  }

  override get outputType(): OutputType | null {
    switch (scriptType(this.#script).type) {
      case 'pubkeyhash':
      case 'scripthash':
        return 'legacy';
      case 'witness_v0_keyhash':
      case 'witness_v0_scripthash':
        return 'bech32';
      case 'witness_v1_taproot':
      case 'witness_unknown':
        return 'bech32m';
      default:
        return null;
    }
  }

  override get scriptSize(): number {
    return this.#script.length;
  }
}

/** A multisig. */
abstract class ThresholdNode extends DescriptorNode {
  abstract readonly name: string;
  readonly threshold: number;
  readonly sorted: boolean;

  constructor(threshold: number, keys: readonly KeyExpression[], sorted: boolean) {
    super(keys);
    this.threshold = threshold;
    this.sorted = sorted;
  }

  format(formatKey: KeyFormat): string | null {
    let text = `${this.sorted ? 'sorted' : ''}${this.name}(${this.threshold}`;
    for (const key of this.keys) {
      const written = formatKey(key);
      if (written === null) return null;
      text += `,${written}`;
    }
    return `${text})`;
  }

  /** Returns the keys, sorted for sortedmulti() (BIP-67). */
  protected inOrder(keys: readonly Uint8Array[]): readonly Uint8Array[] {
    return this.sorted ? keys.toSorted(compareBytes) : keys;
  }
}

export class MultiNode extends ThresholdNode {
  readonly name = 'multi';

  protected makeScripts(publicKeys: readonly Uint8Array[]): Uint8Array[] {
    return [multisig(this.threshold, this.inOrder(publicKeys))];
  }

  override get scriptSize(): number {
    const numbers = pushNumber(this.keys.length).length + pushNumber(this.threshold).length;
    return this.keys.reduce((sum, key) => sum + 1 + key.size, 1 + numbers);
  }

  override maxSatisfactionSize(useMaxSignature: boolean): number {
    return 1 + (1 + ecdsaSize(useMaxSignature)) * this.threshold;
  }

  override maxSatisfactionWeight(useMaxSignature: boolean): number {
    return this.maxSatisfactionSize(useMaxSignature) * WITNESS_SCALE_FACTOR;
  }

  override maxSatisfactionElements(): number {
    return 1 + this.threshold;
  }
}

export class MultiANode extends ThresholdNode {
  readonly name = 'multi_a';

  protected makeScripts(publicKeys: readonly Uint8Array[]): Uint8Array[] {
    const [first, ...others] = this.inOrder(publicKeys.map(xOnly));
    return [
      concatBytes(
        scriptOf(first!, Op.OP_CHECKSIG),
        ...others.map((key) => scriptOf(key, Op.OP_CHECKSIGADD)),
        pushNumber(this.threshold),
        scriptOf(Op.OP_NUMEQUAL),
      ),
    ];
  }

  override get scriptSize(): number {
    return (1 + 32 + 1) * this.keys.length + pushNumber(this.threshold).length + 1;
  }

  override maxSatisfactionSize(): number {
    return (1 + SCHNORR_SIZE) * this.threshold + (this.keys.length - this.threshold);
  }

  override maxSatisfactionElements(): number {
    return this.keys.length;
  }
}

/** sh() or wsh(): a script that the output commits to by its hash. */
abstract class HashedScriptNode extends DescriptorNode {
  readonly node: DescriptorNode;

  constructor(node: DescriptorNode) {
    super([], [node]);
    this.node = node;
  }

  override maxSatisfactionElements(): number | null {
    const inner = this.node.maxSatisfactionElements();
    return inner === null ? null : 1 + inner;
  }

  protected formatAs(name: string, formatKey: KeyFormat): string | null {
    const inner = this.node.format(formatKey);
    return inner === null ? null : `${name}(${inner})`;
  }
}

export class ShNode extends HashedScriptNode {
  format(formatKey: KeyFormat): string | null {
    return this.formatAs('sh', formatKey);
  }

  protected makeScripts(_keys: unknown, [script]: readonly Uint8Array[], data: SigningData): Uint8Array[] {
    data.addScript(script!);
    return [p2shOf(script!)];
  }

  override get outputType(): OutputType {
    return this.#isSegwit ? 'p2sh-segwit' : 'legacy';
  }

  override get scriptSize(): number {
    return 23;
  }

  override maxSatisfactionWeight(useMaxSignature: boolean): number | null {
    const size = this.node.maxSatisfactionSize(useMaxSignature);
    const script = this.node.scriptSize;
    if (size === null || script === null) return null;
    return (1 + script) * WITNESS_SCALE_FACTOR + size * (this.#isSegwit ? 1 : WITNESS_SCALE_FACTOR);
  }

  get #isSegwit(): boolean {
    return this.node.outputType === 'bech32';
  }
}

export class WshNode extends HashedScriptNode {
  format(formatKey: KeyFormat): string | null {
    return this.formatAs('wsh', formatKey);
  }

  protected makeScripts(_keys: unknown, [script]: readonly Uint8Array[], data: SigningData): Uint8Array[] {
    data.addScript(script!);
    return [p2wshOf(script!)];
  }

  override get outputType(): OutputType {
    return 'bech32';
  }

  override get scriptSize(): number {
    return 34;
  }

  override maxSatisfactionSize(useMaxSignature: boolean): number | null {
    const size = this.node.maxSatisfactionSize(useMaxSignature);
    const script = this.node.scriptSize;
    return size === null || script === null ? null : (script < 0xfd ? 1 : 3) + script + size;
  }

  override maxSatisfactionWeight(useMaxSignature: boolean): number | null {
    return this.maxSatisfactionSize(useMaxSignature);
  }
}

/** tr(): an internal key, and scripts with their depths from left to right (BIP-341). */
export class TrNode extends DescriptorNode {
  readonly #depths: readonly number[];

  constructor(internalKey: KeyExpression, nodes: readonly DescriptorNode[], depths: readonly number[]) {
    super([internalKey], nodes);
    this.#depths = depths;
  }

  format(formatKey: KeyFormat): string | null {
    const key = formatKey(this.keys[0]!);
    if (key === null) return null;
    if (this.nodes.length === 0) return `tr(${key})`;
    let text = `tr(${key},`;
    /** Whether the way to where we are goes right, for each step. */
    const way: boolean[] = [];
    for (const [i, node] of this.nodes.entries()) {
      for (; way.length < this.#depths[i]!; way.push(false)) text += '{';
      const script = node.format(formatKey);
      if (script === null) return null;
      text += script;
      for (; way.at(-1) === true; way.pop()) text += '}';
      if (way.length === 0) break;
      text += ',';
      way[way.length - 1] = true;
    }
    return `${text})`;
  }

  protected makeScripts(
    [publicKey]: readonly Uint8Array[],
    scripts: readonly Uint8Array[],
    data: SigningData,
  ): Uint8Array[] {
    const leaves = scripts.map((script, i) => ({
      depth: this.#depths[i]!,
      leafVersion: TAPROOT_LEAF_TAPSCRIPT,
      script,
    }));
    const output = buildTaproot(xOnly(publicKey!), leaves);
    if (output === null) return [];
    data.addTaproot(output);
    return [p2tr(output.outputKey)];
  }

  override get outputType(): OutputType {
    return 'bech32m';
  }

  override get scriptSize(): number {
    return 34;
  }

  /** Returns the weight of a key path spend, which is the minimum: it is unknown which path will be used. */
  override maxSatisfactionWeight(): number {
    return 1 + SCHNORR_SIZE;
  }

  override maxSatisfactionElements(): number {
    return 1;
  }
}
