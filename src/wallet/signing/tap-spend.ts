import { bytesToHex, compareBytes } from '../../util/bytes.ts';
import { isWholeTree, type TreeLeaf } from '../descriptor/taproot-tree.ts';
import type { TaprootSpendData } from '../keys/signing-data.ts';

/** A script of a taproot output with its control blocks, shortest first. */
export interface TapScript {
  readonly script: Uint8Array;
  readonly leafVersion: number;
  readonly controlBlocks: readonly Uint8Array[];
}

/** Data for spending a taproot output. */
export interface TapSpend {
  readonly internalKey: Uint8Array | null;
  /** Null if the output has no scripts, or none is known. */
  readonly merkleRoot: Uint8Array | null;
  /** By `tapScriptKey`. */
  readonly scripts: ReadonlyMap<string, TapScript>;
}

export const NO_TAP_SPEND: TapSpend = { internalKey: null, merkleRoot: null, scripts: new Map() };

const CONTROL_BASE_SIZE = 33;
const CONTROL_NODE_SIZE = 32;

/** Returns a sort key in the order of Core's map of scripts and leaf versions, where a blank precedes all digits. */
function tapScriptKey(script: Uint8Array, leafVersion: number): string {
  return `${bytesToHex(script)} ${leafVersion.toString(16).padStart(2, '0')}`;
}

/** Merges two maps; a script in both gets the control blocks of both. */
export function mergeTapScripts(
  scripts: ReadonlyMap<string, TapScript>,
  others: Iterable<TapScript>,
): Map<string, TapScript> {
  const merged = new Map(scripts);
  const added = new Map<string, Map<string, Uint8Array>>();
  for (const { script, leafVersion, controlBlocks } of others) {
    const key = tapScriptKey(script, leafVersion);
    let blocks = added.get(key);
    if (!blocks) {
      blocks = byHex(merged.get(key)?.controlBlocks ?? []);
      added.set(key, blocks);
      merged.set(key, { script, leafVersion, controlBlocks: [] });
    }
    for (const [hex, block] of byHex(controlBlocks)) blocks.set(hex, block);
  }
  for (const [key, blocks] of added)
    merged.set(key, { ...merged.get(key)!, controlBlocks: shortestFirst(blocks.values()) });
  return merged;
}

function byHex(blocks: readonly Uint8Array[]): Map<string, Uint8Array> {
  return new Map(blocks.map((block) => [bytesToHex(block), block]));
}

function shortestFirst(blocks: Iterable<Uint8Array>): Uint8Array[] {
  return [...blocks].sort((a, b) => a.length - b.length || compareBytes(a, b));
}

/** Merges two sets of data; `a` takes precedence. */
export function mergeTapSpends(a: TapSpend, b: TapSpend): TapSpend {
  return {
    internalKey: a.internalKey ?? b.internalKey,
    merkleRoot: a.merkleRoot ?? b.merkleRoot,
    scripts: mergeTapScripts(a.scripts, b.scripts.values()),
  };
}

export function tapSpendOf({ internalKey, merkleRoot, leaves }: TaprootSpendData): TapSpend {
  const scripts = leaves.map(({ script, leafVersion, controlBlock }) => ({
    script,
    leafVersion,
    controlBlocks: [controlBlock],
  }));
  return { internalKey, merkleRoot, scripts: mergeTapScripts(new Map(), scripts) };
}

/**
 * Returns the complete tree depth first, from right to left as Core writes it; empty if there is none or it is not
 * completely known.
 */
export function treeOf({ leaves }: TaprootSpendData): readonly TreeLeaf[] {
  const tree = leaves.toReversed().map(({ script, leafVersion, controlBlock }) => ({
    depth: (controlBlock.length - CONTROL_BASE_SIZE) / CONTROL_NODE_SIZE,
    leafVersion,
    script,
  }));
  return isWholeTree(tree.map(({ depth }) => depth)) ? tree : [];
}
