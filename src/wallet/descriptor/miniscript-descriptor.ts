import { hash160 } from '../../crypto/hash-functions.ts';
import { bytesToHex } from '../../util/bytes.ts';
import { NO_SIGNING_DATA, type SigningData } from '../keys/signing-data.ts';
import { DescriptorNode, type KeyFormat } from './descriptor-node.ts';
import { descriptorFail, zipPaths } from './expression-reader.ts';
import type { KeyExpression } from './key-expression.ts';
import { xOnly } from './key-nodes.ts';
import { formatMiniscript, miniscriptScript } from './miniscript/format.ts';
import { findInsane, type MiniscriptNode, markDuplicateKeys } from './miniscript/miniscript-node.ts';
import { parseMiniscript } from './miniscript/parse-miniscript.ts';
import { parseKey } from './parse-key.ts';
import type { ParseContext, ParseState } from './parse-state.ts';

/** BIP-68 flag of a relative timelock in units of time. */
const SEQUENCE_TYPE_FLAG = 0x40_0000;
const SEQUENCE_MASK = 0xffff;

/** A miniscript in wsh() or in a leaf of tr(). The keys of its tree are indexes of `keys`. */
export class MiniscriptDescriptor extends DescriptorNode {
  readonly root: MiniscriptNode;

  constructor(keys: readonly KeyExpression[], root: MiniscriptNode) {
    super(keys);
    this.root = root;
  }

  format(formatKey: KeyFormat): string | null {
    return formatMiniscript(this.root, (key) => formatKey(this.keys[key]!));
  }

  protected makeScripts(publicKeys: readonly Uint8Array[], _scripts: unknown, data: SigningData): Uint8Array[] {
    const isTapscript = this.root.context === 'tapscript';
    const bytes = isTapscript ? publicKeys.map(xOnly) : publicKeys;
    // In tapscript, pk_h() hashes the x-only key.
    if (isTapscript)
      for (const [i, key] of bytes.entries()) data.addPublicKey(publicKeys[i]!, bytesToHex(hash160(key)));
    const keys = { key: (key: number) => bytes[key]!, keyHash: (key: number) => hash160(bytes[key]!) };
    return [miniscriptScript(this.root, keys)];
  }

  override get warnings(): readonly string[] {
    const warnings: string[] = [];
    const todo = [this.root];
    for (let node = todo.pop(); node; node = todo.pop()) {
      const { fragment, k } = node;
      const isTime = (k & SEQUENCE_TYPE_FLAG) !== 0;
      if (fragment === 'older' && (k & ~SEQUENCE_TYPE_FLAG) > SEQUENCE_MASK)
        warnings.push(
          isTime
            ? `time-based relative locktime: older(${k}) > (65535 * 512) seconds is unsafe`
            : `height-based relative locktime: older(${k}) > 65535 blocks is unsafe`,
        );
      todo.push(...node.subs);
    }
    return warnings;
  }

  override get scriptSize(): number {
    return this.root.scriptSize;
  }

  override maxSatisfactionSize(): number | null {
    return this.root.witnessSize;
  }

  override maxSatisfactionElements(): number | null {
    return this.root.stackSize;
  }
}

/** Returns the identity of a key: its public key at index 0, or '' where that takes a private key. */
export function keyIdentity(key: KeyExpression): string {
  const resolved = key.resolve(0, { provider: NO_SIGNING_DATA, readCache: null, writeCache: null });
  return resolved === null ? '' : bytesToHex(resolved.publicKey);
}

/** Returns null for text that is not miniscript. Throws DescriptorError for a miniscript that is not allowed. */
export function parseMiniscriptNodes(
  text: string,
  context: ParseContext,
  state: ParseState,
): readonly MiniscriptDescriptor[] | null {
  const isWsh = context === 'wsh';
  const paths: (readonly KeyExpression[])[] = [];
  const root = parseMiniscript(text, isWsh ? 'p2wsh' : 'tapscript', (key) => {
    return paths.push(parseKey(key, isWsh ? 'wsh' : 'tr', state)) - 1;
  });
  if (root === null) return null;
  if (!isWsh && context !== 'tr') descriptorFail('Miniscript expressions can only be used in wsh or tr.');
  markDuplicateKeys(root, (key) => keyIdentity(paths[key]![0]!));
  if (!root.isSane || !root.isSatisfiable) descriptorFail(describeFault(root, paths));
  const sets = zipPaths(paths, Math.max(...paths.map(({ length }) => length)));
  if (sets === null) return descriptorFail('Miniscript: Multipath derivation paths have mismatched lengths');
  return sets.map((keys) => new MiniscriptDescriptor(keys, root));
}

/** Returns an error text with the smallest faulty expression and its fault. */
function describeFault(root: MiniscriptNode, paths: readonly (readonly KeyExpression[])[]): string {
  const culprit = findInsane(root) ?? root;
  const text = formatMiniscript(culprit, (key) => paths[key]![0]!.toText('public'));
  if (!culprit.isValid) return `${text} is invalid`;
  if (root.isSane) return `${text} is not satisfiable`;
  const reason = (() => {
    if (!culprit.isNonMalleable) return ': malleable witnesses exist';
    if (culprit === root && !root.needsSignature) return ': witnesses without signature exist';
    if (!culprit.hasNoTimelockMix) return ': contains mixes of timelocks expressed in blocks and seconds';
    if (culprit.hasDuplicateKeys) return ': contains duplicate public keys';
    if (!culprit.hasValidSatisfactions) return ': needs witnesses that may exceed resource limits';
    return '';
  })();
  return `${text} is not sane${reason}`;
}
