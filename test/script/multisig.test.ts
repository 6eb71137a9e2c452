import { expect, test } from 'bun:test';
import fc from 'fast-check';
import { evalScript } from '../../src/script/interpreter.ts';
import { pushNumber, scriptOf } from '../../src/script/script-builder.ts';
import { NO_SIGNATURES } from '../../src/script/signature-checker.ts';
import { concatBytes } from '../../src/util/bytes.ts';
import { parseScriptFlags } from '../lib/script-flags.ts';

const OP_CHECKMULTISIG = 0xae;
const STRICT = parseScriptFlags('STRICTENC,DERSIG,NULLFAIL');
const EMPTY = new Uint8Array(0);

/** A compressed key, or one with an unknown prefix; its last byte distinguishes it. */
function keyOf(id: number, good: boolean): Uint8Array {
  const key = new Uint8Array(33).fill(id);
  key[0] = good ? 2 : 5;
  return key;
}

/** A strict DER signature with hash type ALL, one with an unknown hash type, or none. */
function signatureOf(id: number, kind: 'good' | 'bad' | 'empty'): Uint8Array {
  if (kind === 'empty') return EMPTY;
  return Uint8Array.of(0x30, 6, 2, 1, id + 1, 2, 1, 1, kind === 'good' ? 1 : 9);
}

interface Pairs {
  readonly keys: readonly boolean[];
  readonly signatures: readonly ('good' | 'bad' | 'empty')[];
  readonly belongs: (signature: number, key: number) => boolean;
}

/** The rule in its original form: from the last pair to the first, each pair's encoding before its signature. */
function fromTheLast({ keys, signatures, belongs }: Pairs): string {
  let s = signatures.length - 1;
  let k = keys.length - 1;
  while (s >= 0) {
    if (s > k) return signatures.some((kind) => kind !== 'empty') ? 'NULLFAIL' : 'false';
    if (signatures[s] === 'bad') return 'SIG_HASHTYPE';
    if (!keys[k]) return 'PUBKEYTYPE';
    if (signatures[s] === 'good' && belongs(s, k)) s--;
    k--;
  }
  return 'true';
}

const pairs = fc
  .record({
    keys: fc.array(fc.boolean(), { minLength: 1, maxLength: 6 }),
    allGood: fc.boolean(),
    kinds: fc.array(
      fc.constantFrom('good' as const, 'good' as const, 'good' as const, 'bad' as const, 'empty' as const),
      {
        maxLength: 6,
      },
    ),
    matrix: fc.array(fc.boolean(), { minLength: 36, maxLength: 36 }),
  })
  .map(({ keys, allGood, kinds, matrix }): Pairs => {
    const signatures = kinds.slice(0, keys.length);
    return {
      keys: allGood ? keys.map(() => true) : keys,
      signatures: allGood ? signatures.map((kind) => (kind === 'bad' ? 'good' : kind)) : signatures,
      belongs: (s, k) => matrix[s * 6 + k]!,
    };
  });

test('the result does not depend on the end from which keys are tried', () => {
  const seen = new Set<string>();
  fc.assert(
    fc.property(pairs, (sample) => {
      const { keys, signatures, belongs } = sample;
      const checker = {
        ...NO_SIGNATURES,
        checkEcdsa: (signature: Uint8Array, key: Uint8Array) =>
          signature.length > 0 && belongs(signature[4]! - 1, key[32]!),
      };
      const stack = [EMPTY, ...signatures.map((kind, id) => signatureOf(id, kind))];
      const script = concatBytes(
        pushNumber(signatures.length),
        scriptOf(...keys.map((good, id) => keyOf(id, good))),
        pushNumber(keys.length),
        Uint8Array.of(OP_CHECKMULTISIG),
      );
      const result = evalScript(stack, script, STRICT, checker, 'base');
      const answer = result === 'OK' ? String(stack.at(-1)!.length > 0) : result;
      seen.add(answer);
      expect(answer).toBe(fromTheLast(sample));
    }),
    { numRuns: 3000, seed: 1 },
  );
  // Every result of the rule occurred.
  expect([...seen].sort()).toEqual(['NULLFAIL', 'PUBKEYTYPE', 'SIG_HASHTYPE', 'false', 'true']);
});
