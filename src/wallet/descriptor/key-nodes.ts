import { WITNESS_SCALE_FACTOR } from '../../consensus/limits.ts';
import { hash160 } from '../../crypto/hash-functions.ts';
import { Op } from '../../script/opcodes.ts';
import { scriptOf } from '../../script/script-builder.ts';
import { p2pk, p2pkh, p2shOf, p2tr, p2wpkh } from '../../script/templates.ts';
import type { SigningData } from '../keys/signing-data.ts';
import type { OutputType } from './descriptor.ts';
import { DescriptorNode, type KeyFormat } from './descriptor-node.ts';
import type { KeyExpression } from './key-expression.ts';

const COMPRESSED_SIZE = 33;
const X_ONLY_SIZE = 32;
/** Bytes of a Schnorr signature with its hash type. */
export const SCHNORR_SIZE = 65;

/** Returns the bytes of a DER signature with its hash type. S is below n/2; R too, unless `useMaxSignature`. */
export function ecdsaSize(useMaxSignature: boolean): number {
  return useMaxSignature ? 72 : 71;
}

/** Returns the X coordinate of a compressed key. */
export function xOnly(publicKey: Uint8Array): Uint8Array {
  return publicKey.subarray(1, COMPRESSED_SIZE);
}

/** A function whose only argument is a key. */
abstract class KeyNode extends DescriptorNode {
  abstract readonly name: string;
  readonly key: KeyExpression;

  constructor(key: KeyExpression) {
    super([key]);
    this.key = key;
  }

  format(formatKey: KeyFormat): string | null {
    const key = formatKey(this.key);
    return key === null ? null : `${this.name}(${key})`;
  }
}

export class PkNode extends KeyNode {
  readonly name = 'pk';
  readonly #inTapscript: boolean;

  constructor(key: KeyExpression, inTapscript = false) {
    super(key);
    this.#inTapscript = inTapscript;
  }

  protected makeScripts([publicKey]: readonly Uint8Array[]): Uint8Array[] {
    return [this.#inTapscript ? scriptOf(xOnly(publicKey!), Op.OP_CHECKSIG) : p2pk(publicKey!)];
  }

  override get scriptSize(): number {
    return 2 + (this.#inTapscript ? X_ONLY_SIZE : this.key.size);
  }

  override maxSatisfactionSize(useMaxSignature: boolean): number {
    return 1 + (this.#inTapscript ? SCHNORR_SIZE : ecdsaSize(useMaxSignature));
  }

  override maxSatisfactionWeight(useMaxSignature: boolean): number {
    return this.maxSatisfactionSize(useMaxSignature) * WITNESS_SCALE_FACTOR;
  }

  override maxSatisfactionElements(): number {
    return 1;
  }
}

export class PkhNode extends KeyNode {
  readonly name = 'pkh';

  protected makeScripts([publicKey]: readonly Uint8Array[]): Uint8Array[] {
    return [p2pkh(hash160(publicKey!))];
  }

  override get outputType(): OutputType {
    return 'legacy';
  }

  override get scriptSize(): number {
    return 25;
  }

  override maxSatisfactionSize(useMaxSignature: boolean): number {
    return 1 + ecdsaSize(useMaxSignature) + 1 + this.key.size;
  }

  override maxSatisfactionWeight(useMaxSignature: boolean): number {
    return this.maxSatisfactionSize(useMaxSignature) * WITNESS_SCALE_FACTOR;
  }

  override maxSatisfactionElements(): number {
    return 2;
  }
}

export class WpkhNode extends KeyNode {
  readonly name = 'wpkh';

  protected makeScripts([publicKey]: readonly Uint8Array[]): Uint8Array[] {
    return [p2wpkh(hash160(publicKey!))];
  }

  override get outputType(): OutputType {
    return 'bech32';
  }

  override get scriptSize(): number {
    return 22;
  }

  override maxSatisfactionSize(useMaxSignature: boolean): number {
    return 1 + ecdsaSize(useMaxSignature) + 1 + COMPRESSED_SIZE;
  }

  override maxSatisfactionWeight(useMaxSignature: boolean): number {
    return this.maxSatisfactionSize(useMaxSignature);
  }

  override maxSatisfactionElements(): number {
    return 2;
  }
}

/** combo(): P2PK and P2PKH, and for a compressed key P2WPKH and P2SH-P2WPKH. */
export class ComboNode extends KeyNode {
  readonly name = 'combo';
  override readonly isSingleType = false;

  protected makeScripts([publicKey]: readonly Uint8Array[], _scripts: unknown, data: SigningData): Uint8Array[] {
    const hash = hash160(publicKey!);
    const legacy = [p2pk(publicKey!), p2pkh(hash)];
    if (publicKey!.length !== COMPRESSED_SIZE) return legacy;
    const program = p2wpkh(hash);
    data.addScript(program);
    return [...legacy, program, p2shOf(program)];
  }
}

/** rawtr(): a taproot output of which only the output key is known. */
export class RawTrNode extends KeyNode {
  readonly name = 'rawtr';

  protected makeScripts([publicKey]: readonly Uint8Array[]): Uint8Array[] {
    return [p2tr(xOnly(publicKey!))];
  }

  override get outputType(): OutputType {
    return 'bech32m';
  }

  override get scriptSize(): number {
    return 34;
  }

  override maxSatisfactionWeight(): number {
    return 1 + SCHNORR_SIZE;
  }

  override maxSatisfactionElements(): number {
    return 1;
  }
}

/** unused(): a key without any script. */
export class UnusedNode extends KeyNode {
  readonly name = 'unused';
  override readonly hasScripts = false;

  protected makeScripts(): Uint8Array[] {
    return [];
  }
}
