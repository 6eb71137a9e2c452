import { describe, expect, test } from 'bun:test';
import { scriptAssets, verifierOf } from '../lib/script-assets.ts';
import { parseScriptFlags } from '../lib/script-flags.ts';
import { hasVectors } from '../lib/vectors.ts';

const flag = (name: string) => parseScriptFlags(name);
const INDEPENDENT = ['DERSIG', 'NULLDUMMY', 'CHECKLOCKTIMEVERIFY', 'CHECKSEQUENCEVERIFY'].map(flag);
// Each flag requires the one before it.
const NESTED = ['', 'P2SH', 'P2SH,WITNESS', 'P2SH,WITNESS,TAPROOT'].map(flag);

/** All valid sets of consensus flags. */
const LEGAL_SETS = NESTED.flatMap((nested) =>
  Array.from({ length: 1 << INDEPENDENT.length }, (_, bits) =>
    INDEPENDENT.reduce((flags, one, i) => (bits & (1 << i) ? flags | one : flags), nested),
  ),
);

describe.skipIf(!hasVectors)('script assets under every legal set of consensus flags', () => {
  const assets = scriptAssets();

  test('a valid spend stays valid with fewer flags, an invalid one invalid with more', () => {
    // A matcher of the runner takes longer than a check.
    const wrong: string[] = [];
    let checks = 0;
    for (const [number, asset] of assets.entries()) {
      const flags = flag(asset.flags);
      if (asset.success) {
        const verify = verifierOf(asset, asset.success);
        // A final success is valid with any flags.
        for (const others of LEGAL_SETS)
          if (asset.final || (others & flags) === others) {
            if (verify(others) !== 'OK') wrong.push(`${number} fails with flags ${others}`);
            checks++;
          }
      }
      if (asset.failure) {
        const verify = verifierOf(asset, asset.failure);
        for (const others of LEGAL_SETS)
          if ((others & flags) === flags) {
            if (verify(others) === 'OK') wrong.push(`${number} succeeds with flags ${others}`);
            checks++;
          }
      }
    }
    expect(wrong).toEqual([]);
    expect(LEGAL_SETS.length).toBe(64);
    expect(checks).toBe(89_086);
  }, 300_000);
});
