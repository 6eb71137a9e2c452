import type { KeyPath } from '../keys/key-path.ts';
import { descriptorFail, ExpressionReader, withPrefix, zipPaths } from './expression-reader.ts';
import type { KeyExpression } from './key-expression.ts';
import { MusigKey, type MusigParts } from './musig-key.ts';
import type { ParseState } from './parse-state.ts';
import { parseSteps, parseWildcard } from './parse-steps.ts';

type ParseParticipant = (text: string) => readonly KeyExpression[];

interface Derivation {
  readonly paths: readonly KeyPath[];
  readonly wildcard: MusigParts['wildcard'];
}

/** Parses `musig(…)` and its steps (BIP-390). Throws DescriptorError. */
export function parseMusig(text: string, state: ParseState, parse: ParseParticipant): readonly MusigKey[] {
  const close = text.indexOf(')');
  if (close !== text.lastIndexOf(')')) descriptorFail("Too many ')' in musig() expression");
  const reader = new ExpressionReader(close < 0 ? text : text.slice(0, close + 1));
  if (!reader.enter('musig')) descriptorFail('Invalid musig() expression');
  const participants = parseParticipants(reader, parse);
  const steps = text.slice(close + 1);
  const { paths, wildcard } = steps.startsWith('/')
    ? parseDerivation(steps, participants)
    : ({ paths: [[]], wildcard: 'none' } as const);

  const longest = Math.max(...participants.map(({ length }) => length));
  if (longest > 1 && paths.length > 1)
    descriptorFail('musig(): Cannot have multipath participant keys if musig() is also multipath');
  const count = Math.max(longest, paths.length);
  const sets = zipPaths(participants, count);
  if (sets === null) return descriptorFail('musig(): Multipath derivation paths have mismatched lengths');
  const position = state.keyCount++;
  return sets.map((set, i) => {
    const path = paths[paths.length === 1 ? 0 : i]!;
    return new MusigKey({ position, participants: set, path, wildcard, encoding: state.encoding });
  });
}

function parseParticipants(reader: ExpressionReader, parse: ParseParticipant): (readonly KeyExpression[])[] {
  const participants: (readonly KeyExpression[])[] = [];
  while (!reader.done) {
    if (participants.length > 0 && !reader.skip(',')) descriptorFail(`musig(): expected ',', got '${reader.rest[0]}'`);
    const argument = reader.argument();
    participants.push(withPrefix('musig(): ', () => parse(argument)));
  }
  if (participants.length === 0) descriptorFail('musig(): Must contain key expressions');
  return participants;
}

function parseDerivation(text: string, participants: readonly (readonly KeyExpression[])[]): Derivation {
  if (!participants.every(([key]) => key!.isExtended))
    descriptorFail('musig(): derivation requires all participants to be xpubs or xprvs');
  if (participants.some(([key]) => key!.isRange))
    descriptorFail('musig(): Cannot have ranged participant keys if musig() also has derivation');
  const notation = { apostrophe: false };
  const steps = text.slice(1).split('/');
  const wildcard = parseWildcard(steps, notation);
  if (wildcard === 'hardened') return descriptorFail('musig(): Cannot have hardened child derivation');
  const { paths, hardened } = withPrefix('musig(): ', () => parseSteps(steps, notation, { multipath: true }));
  if (hardened) descriptorFail('musig(): cannot have hardened derivation steps');
  return { paths, wildcard };
}
