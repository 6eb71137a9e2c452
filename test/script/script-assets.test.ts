import { describe, expect, test } from 'bun:test';
import { scriptAssets, verifierOf } from '../lib/script-assets.ts';
import { parseScriptFlags } from '../lib/script-flags.ts';
import { hasVectors } from '../lib/vectors.ts';
import { filled, flagSets } from './flag-sets.ts';

// All sets of consensus flags that were ever in force, in the order of the forks.
const CONSENSUS_FLAGS = [
  '',
  'P2SH',
  'P2SH,DERSIG',
  'P2SH,DERSIG,CHECKLOCKTIMEVERIFY',
  'P2SH,DERSIG,CHECKLOCKTIMEVERIFY,CHECKSEQUENCEVERIFY',
  'P2SH,DERSIG,CHECKLOCKTIMEVERIFY,CHECKSEQUENCEVERIFY,WITNESS,NULLDUMMY',
  'P2SH,DERSIG,CHECKLOCKTIMEVERIFY,CHECKSEQUENCEVERIFY,WITNESS,NULLDUMMY,TAPROOT',
].map((list) => parseScriptFlags(list));

describe.skipIf(!hasVectors)('script assets', () => {
  const assets = scriptAssets();
  test('all cases were read', () => expect(assets.length).toBe(1380));

  for (const [number, asset] of assets.entries())
    test(`${number}: ${asset.comment}`, () => {
      const flags = parseScriptFlags(asset.flags);
      const { success, failure } = asset;
      // Core's rule: a success remains one with fewer flags, and a final one with any flags; a failure remains one with
      // more flags.
      if (success) {
        const verify = verifierOf(asset, success);
        expect(verify(flags)).toBe('OK');
        for (const others of CONSENSUS_FLAGS)
          if (asset.final || (others & flags) === others) expect(verify(others)).toBe('OK');
      }
      if (failure) {
        const verify = verifierOf(asset, failure);
        expect(verify(flags)).not.toBe('OK');
        for (const others of CONSENSUS_FLAGS) if ((others & flags) === flags) expect(verify(others)).not.toBe('OK');
        for (const more of flagSets(number, 2)) expect(verify(filled(flags | more))).not.toBe('OK');
      }
    }, 180_000);
});
