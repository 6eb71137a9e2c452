import { describe, expect, test } from 'bun:test';
import { checkReplacementClusters, paysForReplacement, signalsOptInRbf } from '../../src/policy/rbf.ts';
import { hashFromHex, type Txid } from '../../src/primitives/hash.ts';
import { input, someOutpoint, txOf } from './policy-fixture.ts';

const HEX = '01'.padStart(64, '0');
const txid = hashFromHex<Txid>(HEX);

describe('the fees of a replacement', () => {
  const CENT = 1_000_000n;
  const HIGH = CENT;
  const LOW = CENT / 100n;
  const pays = (originalFees: bigint, replacementFees: bigint, replacementVsize: number, incrementalFeerate: bigint) =>
    paysForReplacement({ txid, originalFees, replacementFees, replacementVsize, incrementalFeerate });

  // The cases of Core's rbf_helper_functions.
  test('are at least those of the replaced transactions', () => {
    expect(pays(HIGH, HIGH, 1, 0n)).toBeNull();
    expect(pays(HIGH, HIGH - 1n, 1, 0n)).toBe(
      `rejecting replacement ${HEX}, less fees than conflicting txs; 0.00999999 < 0.01`,
    );
    expect(pays(HIGH + 1n, HIGH, 1, 0n)).toBe(
      `rejecting replacement ${HEX}, less fees than conflicting txs; 0.01 < 0.01000001`,
    );
  });

  test('also pay for its own relay', () => {
    expect(pays(HIGH, HIGH + 1n, 10, 100n)).toBeNull();
    expect(pays(HIGH, HIGH + 1n, 11, 100n)).toBe(
      `rejecting replacement ${HEX}, not enough additional fees to relay; 0.00000001 < 0.00000002`,
    );
    expect(pays(HIGH, HIGH + 2n, 11, 200n)).not.toBeNull();
    expect(pays(HIGH, HIGH + 4n, 20, 200n)).toBeNull();
    expect(pays(HIGH, HIGH + 3n, 20, 200n)).not.toBeNull();
    expect(pays(LOW, HIGH, 99_999_999, 100n)).not.toBeNull();
    expect(pays(LOW, HIGH + 99_999_999n, 99_999_999, 100n)).toBeNull();
    expect(pays(HIGH, HIGH, 1000, 100n)).toBe(
      `rejecting replacement ${HEX}, not enough additional fees to relay; 0.00 < 0.000001`,
    );
  });

  test('may be negative as modified fees', () => {
    expect(pays(-20n, -10n, 100, 100n)).toBeNull();
    expect(pays(-10n, -20n, 100, 100n)).toBe(
      `rejecting replacement ${HEX}, less fees than conflicting txs; -0.0000002 < -0.0000001`,
    );
  });
});

test('a replacement conflicts with at most 100 clusters', () => {
  expect(checkReplacementClusters(txid, 100)).toBeNull();
  expect(checkReplacementClusters(txid, 101)).toBe(
    `rejecting replacement ${HEX}; too many conflicting clusters (101 > 100)`,
  );
});

test('BIP-125: one input is enough to signal', () => {
  const signals = (...sequences: number[]) =>
    signalsOptInRbf(txOf({ inputs: sequences.map((sequence, i) => input(someOutpoint(i), { sequence })) }));
  expect(signals(0xffff_fffd)).toBe(true);
  expect(signals(0)).toBe(true);
  expect(signals(0xffff_fffe)).toBe(false);
  expect(signals(0xffff_ffff, 0xffff_fffd)).toBe(true);
  expect(signals(0xffff_ffff, 0xffff_fffe)).toBe(false);
});
