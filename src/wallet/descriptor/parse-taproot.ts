import type { DescriptorNode } from './descriptor-node.ts';
import { descriptorFail, ExpressionReader, withPrefix, zipPaths } from './expression-reader.ts';
import { parseKey } from './parse-key.ts';
import type { ParseState } from './parse-state.ts';
import { TrNode } from './script-nodes.ts';
import { MAX_TAPROOT_DEPTH } from './taproot-tree.ts';

type ParseScript = (reader: ExpressionReader) => readonly DescriptorNode[];

/** Parses the argument of tr(): the internal key and an optional script tree. Throws DescriptorError. */
export function parseTaproot(reader: ExpressionReader, state: ParseState, parse: ParseScript): readonly TrNode[] {
  const argument = reader.argument();
  const keys = withPrefix('tr(): ', () => parseKey(argument, 'tr', state));
  const { scripts, depths } = reader.done ? { scripts: [], depths: [] } : parseTree(reader, parse);
  const count = Math.max(keys.length, ...scripts.map(({ length }) => length));
  const sets = zipPaths(scripts, count) ?? descriptorFail('tr(): Multipath subscripts have mismatched lengths');
  if (keys.length > 1 && keys.length !== count)
    descriptorFail('tr(): Multipath internal key mismatches multipath subscripts lengths');
  return sets.map((nodes, i) => new TrNode(keys[keys.length === 1 ? 0 : i]!, nodes, depths));
}

function parseTree(
  reader: ExpressionReader,
  parse: ParseScript,
): { readonly scripts: readonly (readonly DescriptorNode[])[]; readonly depths: readonly number[] } {
  if (!reader.skip(',')) descriptorFail(`tr: expected ',', got '${reader.rest[0]}'`);
  const scripts: (readonly DescriptorNode[])[] = [];
  const depths: number[] = [];
  /** Whether the way to where we are goes right, for each step. */
  const way: boolean[] = [];
  do {
    while (reader.skip('{')) {
      way.push(false);
      if (way.length > MAX_TAPROOT_DEPTH) descriptorFail(`tr() supports at most ${MAX_TAPROOT_DEPTH} nesting levels`);
    }
    scripts.push(parse(new ExpressionReader(reader.argument())));
    depths.push(way.length);
    while (way.at(-1) === true) {
      if (!reader.skip('}')) descriptorFail("tr(): expected '}' after script expression");
      way.pop();
    }
    if (way.length > 0) {
      if (!reader.skip(',')) descriptorFail("tr(): expected ',' after script expression");
      way[way.length - 1] = true;
    }
  } while (way.length > 0);
  if (!reader.done) descriptorFail("tr(): expected ')' after script expression");
  return { scripts, depths };
}
