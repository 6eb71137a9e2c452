import { describe, expect, test } from 'bun:test';
import { isBip30Repeat, mustCheckBip30 } from '../../src/consensus/bip30.ts';
import type { HeaderEntry } from '../../src/consensus/header-entry.ts';
import { mainnet } from '../../src/params/mainnet.ts';
import { regtest } from '../../src/params/regtest.ts';
import type { BlockHash } from '../../src/primitives/hash.ts';
import { hashFromHex } from '../../src/primitives/hash.ts';

const REPEAT = hashFromHex<BlockHash>('00000000000a4d0a398161ffc163c503763b1f4360639393e0e4c8e300e0caec');
const OTHER = hashFromHex<BlockHash>('11'.repeat(32));
const BIP34 = hashFromHex<BlockHash>('000000000000024b89b42a942fe0d9fea3bb44ab7bd1b19115dd6a759c0808b8');

/** A parent at a height, on a chain whose block at 227,931 has this hash. */
function parentAt(height: number, bip34Hash: BlockHash): HeaderEntry {
  const entry: HeaderEntry = {
    hash: OTHER,
    version: 4,
    time: 0,
    bits: 0,
    height,
    parent: null,
    chainwork: 0n,
    ancestor: (at) => (at > height ? null : { ...entry, height: at, hash: at === 227_931 ? bip34Hash : OTHER }),
  };
  return entry;
}

describe('BIP-30', () => {
  const { consensus } = mainnet;

  test('is not checked for the two repeated coinbases of the main chain', () => {
    expect(mustCheckBip30(REPEAT, parentAt(91_841, BIP34), consensus)).toBe(false);
    expect(mustCheckBip30(REPEAT, parentAt(91_842, BIP34), consensus)).toBe(true);
    expect(mustCheckBip30(OTHER, parentAt(91_841, BIP34), consensus)).toBe(true);
    expect(isBip30Repeat(hashFromHex('00000000000743f190a18c5577a3c2d2a1f610ae9601ac046a38084ccb7cd721'), 91_880)).toBe(
      true,
    );
  });

  test('is not checked after BIP-34 on the known chain', () => {
    expect(mustCheckBip30(OTHER, parentAt(227_930, BIP34), consensus)).toBe(true);
    expect(mustCheckBip30(OTHER, parentAt(227_931, BIP34), consensus)).toBe(false);
    expect(mustCheckBip30(OTHER, parentAt(227_931, OTHER), consensus)).toBe(true);
  });

  test('is checked again from height 1,983,702 on', () => {
    expect(mustCheckBip30(OTHER, parentAt(1_983_700, BIP34), consensus)).toBe(false);
    expect(mustCheckBip30(OTHER, parentAt(1_983_701, BIP34), consensus)).toBe(true);
  });

  test('is always checked on networks without a known BIP-34 block', () =>
    expect(mustCheckBip30(OTHER, parentAt(500, OTHER), regtest.consensus)).toBe(true));
});
