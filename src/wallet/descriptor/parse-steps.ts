import { type KeyPath, parseKeyPathStep } from '../keys/key-path.ts';
import { descriptorFail, MAX_MULTIPATH_PRODUCT } from './expression-reader.ts';
import type { Wildcard } from './extended-key-expression.ts';

/** Steps below a master key: the depth of an extended key is one byte (BIP-32). */
const MAX_STEPS = 255;

/** Notation of hardened steps: that of the last one. */
export interface Notation {
  apostrophe: boolean;
}

/** Removes a final `*` from the steps. */
export function parseWildcard(steps: string[], notation: Notation): Wildcard {
  const last = steps.at(-1);
  if (last !== '*' && last !== "*'" && last !== '*h') return 'none';
  steps.pop();
  if (last === '*') return 'unhardened';
  notation.apostrophe = last === "*'";
  return 'hardened';
}

/** Returns the paths of the steps, one of which may be a multipath `<0;1>`. Throws DescriptorError. */
export function parseSteps(
  steps: readonly string[],
  notation: Notation,
  { multipath }: { readonly multipath: boolean },
): { readonly paths: readonly KeyPath[]; readonly hardened: boolean } {
  if (steps.length > MAX_STEPS) descriptorFail(`Key path has ${steps.length} steps; at most ${MAX_STEPS} are possible`);
  let hardened = false;
  const parse = (text: string): number => {
    const step = parseKeyPathStep(text);
    if (!step.ok) return descriptorFail(step.error);
    if (step.hardened) {
      hardened = true;
      notation.apostrophe = text.endsWith("'");
    }
    return step.child;
  };
  const path: number[] = [];
  let at = -1;
  const values = new Set<number>();
  for (const step of steps) {
    if (!step.startsWith('<') || !step.endsWith('>')) {
      path.push(parse(step));
      continue;
    }
    if (!multipath)
      descriptorFail(`Key path value '${step}' specifies multipath in a section where multipath is not allowed`);
    if (at >= 0) descriptorFail('Multiple multipath key path specifiers found');
    const items = step.slice(1, -1).split(';');
    if (items.length < 2) descriptorFail('Multipath key path specifiers must have at least two items');
    for (const item of items) {
      const value = parse(item);
      if (values.has(value)) descriptorFail(`Duplicated key path value ${value} in multipath specifier`);
      values.add(value);
    }
    at = path.length;
    path.push(0);
  }
  if (values.size * path.length > MAX_MULTIPATH_PRODUCT) descriptorFail('Multipath key path has too many steps');
  const paths = at < 0 ? [path] : [...values].map((value) => path.with(at, value));
  return { paths, hardened };
}
