import { describe, expect, test } from 'bun:test';
import { loadConfig } from '../../src/config/load.ts';
import { paramsOfConfig } from '../../src/node/config-params.ts';
import { paramsFor } from '../../src/params/networks.ts';

const host = {
  env: {},
  home: '/home/user',
  cwd: '/',
  cores: 1,
  memory: 2 ** 32,
  readFile: () => {
    throw new Error('no file');
  },
};

function paramsWith(...args: string[]) {
  return paramsOfConfig(loadConfig(args, host as never).config);
}

describe('the parameters of the configured network', () => {
  test('are those of the version without settings', () => {
    expect(paramsWith('--network=main')).toEqual(paramsFor('main'));
  });

  test('have the block of chain.assumeValid, written as in a block explorer', () => {
    const hash = '00000000000000000000aabbccddeeff00112233445566778899aabbccddeeff';
    const { assumeValid } = paramsWith('--network=main', `--chain.assumeValid=${hash.toUpperCase()}`).consensus;
    expect(assumeValid!.toReversed().toHex()).toBe(hash);
  });

  test('follow BIP-94 on regtest with consensus.enforceBip94, beside other heights', () => {
    const { consensus } = paramsWith(
      '--network=regtest',
      '--consensus.enforceBip94',
      '--consensus.testActivationHeight=csv@5',
    );
    expect([consensus.enforceBip94, consensus.csvHeight]).toEqual([true, 5]);
    expect(paramsWith('--network=regtest').consensus.enforceBip94).toBe(false);
  });

  test('assume no block valid with chain.assumeValid=0', () => {
    expect(paramsWith('--network=main', '--chain.assumeValid=0').consensus.assumeValid).toBeNull();
  });

  test('have the work of chain.minimumWork, in hexadecimal', () => {
    expect(paramsWith('--network=main', '--chain.minimumWork=0fF').consensus.minimumChainWork).toBe(255n);
  });

  test('are those of a custom signet with consensus.signetChallenge', () => {
    const { consensus, magic, assumedUtxoSets } = paramsWith('--network=signet', '--consensus.signetChallenge=51');
    expect([consensus.signetChallenge, assumedUtxoSets]).toEqual([Uint8Array.of(0x51), []]);
    expect(magic).not.toBe(paramsFor('signet').magic);
  });

  test.each(['abc', 'xy', '5'])('refuse consensus.signetChallenge=%s', (value) => {
    expect(() => paramsWith('--network=signet', `--consensus.signetChallenge=${value}`)).toThrow(
      'consensus.signetChallenge',
    );
  });

  test.each(['xyz', 'ab'.repeat(31), '1'])('refuse chain.assumeValid=%s', (value) => {
    expect(() => paramsWith(`--chain.assumeValid=${value}`)).toThrow(
      'must be a block hash of 64 hexadecimal digits, or 0',
    );
  });
});
