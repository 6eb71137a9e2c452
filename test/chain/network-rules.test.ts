import { describe, expect, test } from 'bun:test';
import type { ConsensusParams } from '../../src/consensus/consensus-params.ts';
import { bip9Info, VersionBitsCache } from '../../src/consensus/version-bits.ts';
import { publicKeyOf } from '../../src/crypto/keys.ts';
import { genesisBlock } from '../../src/params/genesis.ts';
import type { NetworkParams } from '../../src/params/network-params.ts';
import { regtest, regtestWith } from '../../src/params/regtest.ts';
import { parseBlock } from '../../src/primitives/block.ts';
import type { Transaction } from '../../src/primitives/transaction.ts';
import { Op } from '../../src/script/opcodes.ts';
import { pushNumber, scriptOf } from '../../src/script/script-builder.ts';
import { concatBytes } from '../../src/util/bytes.ts';
import { type BlockOptions, chainWithCoins, RegtestChain } from '../lib/chain-builder.ts';
import { TestNode } from '../lib/chain-fixture.ts';
import { coinOf, spend, sweep, testSecret, withInput } from '../lib/tx-builder.ts';

const withRules = (rules: Partial<ConsensusParams>): NetworkParams => ({
  ...regtest,
  consensus: { ...regtest.consensus, ...rules },
});

describe('a buried deployment is active from its height on, and not before', () => {
  /** The coins of blocks 1 to 4 may be spent in block 104. */
  const FIRST = 104;
  const HEIGHT = 106;

  /** Two transactions: one creates a coin of this script, the other spends it. */
  function locked(chain: RegtestChain, coin: number, script: Uint8Array, scriptSig: Uint8Array): Transaction[] {
    const made = spend(chain.coin(coin), [{ to: script, value: 1_0000_0000n }]);
    return [made, withInput(sweep(coinOf(made, 0), 'anyone', 1000n, { sign: false }), 0, { scriptSig })];
  }
  const notSigned = scriptOf(publicKeyOf(testSecret('rules')), Op.OP_CHECKSIG, Op.OP_NOT);
  const lockedBy = (op: number) => concatBytes(pushNumber(1), Uint8Array.of(op));

  const cases: Record<string, [reason: string, options: (chain: RegtestChain, coin: number) => BlockOptions]> = {
    bip34: ['bad-cb-height', () => ({ coinbaseScriptSig: Uint8Array.of(1, 7, 1, 7) })],
    'bip34 (version)': ['bad-version(0x00000001)', () => ({ version: 1 })],
    dersig: [
      'block-script-verify-flag-failed (Non-canonical DER signature)',
      (chain, coin) => ({ txs: locked(chain, coin, notSigned, scriptOf(Uint8Array.of(1, 2, 3))) }),
    ],
    'dersig (version)': ['bad-version(0x00000002)', () => ({ version: 2 })],
    cltv: [
      'block-script-verify-flag-failed (Locktime requirement not satisfied)',
      (chain, coin) => ({ txs: locked(chain, coin, lockedBy(Op.OP_CHECKLOCKTIMEVERIFY), new Uint8Array(0)) }),
    ],
    'cltv (version)': ['bad-version(0x00000003)', () => ({ version: 3 })],
    csv: [
      'block-script-verify-flag-failed (Locktime requirement not satisfied)',
      (chain, coin) => ({ txs: locked(chain, coin, lockedBy(Op.OP_CHECKSEQUENCEVERIFY), new Uint8Array(0)) }),
    ],
    'csv (BIP-68)': [
      'bad-txns-nonfinal',
      (chain, coin) => ({ txs: [spend(chain.coin(coin), [{ to: 'anyone', value: 1n }], { sequence: 200 })] }),
    ],
    segwit: ['bad-witness-merkle-match', () => ({ commitment: 'wrong' })],
  };

  for (const [name, [reason, options]] of Object.entries(cases))
    test(name, async () => {
      // Later rules raise the least version too, and segwit requires the earlier rules.
      const rule = name.split(' ')[0]!;
      const all = ['bip34', 'dersig', 'cltv', 'csv', 'segwit'];
      const params = regtestWith(all.map((other) => `${other}@${other === rule ? HEIGHT : 500}`));
      const chain = chainWithCoins(4, 'anyone', { params });
      await using node = new TestNode({ params });
      await node.take(chain.blocks.slice(1));
      expect(chain.height).toBe(FIRST - 1);
      for (let coin = 1; chain.height + 1 < HEIGHT; coin++) {
        // Before segwit the commitment is not checked, and a coinbase must have no witness.
        const block = chain.mine(1, withoutWitness(rule, options(chain, coin)));
        expect([block.height, await node.submit(block)]).toEqual([block.height, 'accepted']);
      }
      expect(await node.submit(chain.build(options(chain, 3)))).toBe(reason);
      expect(await node.submit(chain.mine())).toBe('accepted');
    });

  function withoutWitness(rule: string, options: BlockOptions): BlockOptions {
    return rule === 'segwit' ? { ...options, coinbaseWitness: [] } : options;
  }
});

describe('difficulty of test networks', () => {
  // Periods of ten blocks of six seconds, with a target that can be multiplied.
  const LIMIT = 0x1f7f_ffff;
  const limitRules = { powLimit: 0x7f_ffffn << 224n, powTargetSpacing: 6, powTargetTimespan: 60, noRetargeting: false };

  function networkWith(rules: Partial<ConsensusParams>): NetworkParams {
    const { consensus, ...rest } = withRules({ ...limitRules, ...rules });
    const params = { ...rest, genesis: { ...regtest.genesis, bits: LIMIT, time: 1_700_000_000 - 6 }, consensus };
    return { ...params, consensus: { ...consensus, genesisHash: parseBlock(genesisBlock(params)).hash } };
  }

  /** A node and a chain of 19 blocks, so that the next one begins a period. */
  async function atBoundary(params: NetworkParams, spacing: number) {
    const chain = new RegtestChain({ params, spacing, to: 'anyone' });
    const node = new TestNode({ params });
    // The blocks up to 10 are late enough that the target of the first period stays at its limit, but not so late that
    // the 20-minute rule applies.
    while (chain.height < 10) chain.mine(1, { bits: LIMIT, time: chain.tip.time + 7 });
    while (chain.height < 19) chain.mine(1, { bits: LIMIT });
    await node.take(chain.blocks.slice(1));
    return { chain, node };
  }

  test('a block after twice the spacing may have the easiest target, the next one may not', async () => {
    const params = networkWith({ allowMinDifficultyBlocks: true });
    const { chain, node } = await atBoundary(params, 3);
    await using _node = node;
    // Heights 10 to 19 took 27 s of 60: 45 % of the target.
    expect(await node.submit(chain.build({ bits: LIMIT }))).toBe('bad-diffbits');
    const harder = 0x1f39_9999;
    expect(await node.submit(chain.mine(1, { bits: harder }))).toBe('accepted');
    const late = chain.tip.time + 12;
    expect(await node.submit(chain.build({ bits: LIMIT, time: late }))).toBe('bad-diffbits');
    expect(await node.submit(chain.build({ bits: harder, time: late + 1 }))).toBe('bad-diffbits');
    expect(await node.submit(chain.mine(1, { bits: LIMIT, time: late + 1 }))).toBe('accepted');
    expect(await node.submit(chain.build({ bits: LIMIT }))).toBe('bad-diffbits');
    expect(await node.submit(chain.mine(1, { bits: harder }))).toBe('accepted');
  });

  test('without this rule a late block has the normal target', async () => {
    const { chain, node } = await atBoundary(networkWith({ allowMinDifficultyBlocks: false }), 3);
    await using _node = node;
    const harder = 0x1f39_9999;
    expect(await node.submit(chain.mine(1, { bits: harder }))).toBe('accepted');
    const late = chain.tip.time + 1000;
    expect(await node.submit(chain.build({ bits: LIMIT, time: late }))).toBe('bad-diffbits');
    expect(await node.submit(chain.mine(1, { bits: harder, time: late }))).toBe('accepted');
  });

  test('with BIP-94 the retarget uses the target of the first block of a period, not of an easy last one', async () => {
    for (const enforceBip94 of [true, false]) {
      const { chain, node } = await atBoundary(networkWith({ allowMinDifficultyBlocks: true, enforceBip94 }), 3);
      await using _node = node;
      const harder = 0x1f39_9999;
      while (chain.height < 28) expect(await node.submit(chain.mine(1, { bits: harder }))).toBe('accepted');
      expect(await node.submit(chain.mine(1, { bits: LIMIT, time: chain.tip.time + 36 }))).toBe('accepted');
      // Eight intervals of 3 s and one of 36 s: all of the 60 s.
      const [right, wrong] = enforceBip94 ? [harder, LIMIT] : [LIMIT, harder];
      expect(await node.submit(chain.build({ bits: wrong }))).toBe('bad-diffbits');
      expect(await node.submit(chain.mine(1, { bits: right }))).toBe('accepted');
    }
  });
});

test('time-timewarp-attack: with BIP-94 a period starts at most ten minutes before the last block of the previous one', async () => {
  for (const enforceBip94 of [true, false]) {
    const params = withRules({ enforceBip94, powTargetTimespan: 6000 });
    const chain = chainWithCoins(1, 'anyone', { params }).fork(19);
    await using node = new TestNode({ params });
    await node.take(chain.blocks.slice(1));
    const early = chain.build({ time: chain.tip.time - 601 });
    expect(await node.submit(early)).toBe(enforceBip94 ? 'time-timewarp-attack' : 'accepted');
    if (!enforceBip94) continue;
    expect(await node.submit(chain.mine(1, { time: chain.tip.time - 600 }))).toBe('accepted');
    // Within a period only the median time past applies.
    expect(await node.submit(chain.mine(1, { time: chain.tip.medianTimePast + 1 }))).toBe('accepted');
  }
});

test('bad-signet-blksig: a block without the solution of its signet is rejected', async () => {
  const challenge = scriptOf(publicKeyOf(testSecret('signet')), Op.OP_CHECKSIG);
  const open = withRules({ signetChallenge: Uint8Array.of(Op.OP_1) });
  const closed = withRules({ signetChallenge: challenge });
  const chain = chainWithCoins(1, 'anyone', { params: open });
  await using free = new TestNode({ params: open });
  await free.take(chain.blocks.slice(1));
  await using node = new TestNode({ params: closed });
  expect(await node.submit(chain.at(1))).toBe('bad-signet-blksig');
  expect(node.chain.height).toBe(0);
});

describe('BIP-9 states along a chain', () => {
  const BIT = 1 << 28;
  const SIGNAL = 0x2000_0000 | BIT;
  const START = 1_700_049_800;

  function paramsWith(deployment: Partial<ConsensusParams['deployments']['testdummy']>): NetworkParams {
    const { testdummy } = regtest.consensus.deployments;
    return withRules({
      deployments: { testdummy: { ...testdummy, period: 10, threshold: 8, startTime: START, ...deployment } },
    });
  }

  /** The state of the next block by height, after each block. */
  async function statesAlong(params: NetworkParams, versions: (height: number) => number, upTo: number) {
    const chain = chainWithCoins(1, 'anyone', { params, spacing: 600 }).fork(0);
    await using node = new TestNode({ params });
    const cache = new VersionBitsCache();
    const changes: [height: number, state: string][] = [];
    while (chain.height < upTo) {
      expect(await node.submit(chain.mine(1, { version: versions(chain.height + 1) }))).toBe('accepted');
      const info = bip9Info(node.chain.tip, params.consensus, 'testdummy', cache);
      const last = changes.at(-1)?.[1];
      if (info.statusNext !== last) changes.push([chain.height + 1, info.statusNext]);
    }
    return changes;
  }

  test('pass from defined over started and locked in to active', async () => {
    const states = await statesAlong(paramsWith({}), () => SIGNAL, 130);
    // The median of block 89 is the time of block 84, START: 1,700,000,000 + 83 * 600.
    expect(states).toEqual([
      [2, 'defined'],
      [90, 'started'],
      [100, 'locked_in'],
      [110, 'active'],
    ]);
  });

  test('fail at the timeout after seven signals of ten', async () => {
    const few = (height: number) => (height % 10 < 7 ? SIGNAL : 0x2000_0000);
    expect(await statesAlong(paramsWith({ timeout: START + 12_000 }), few, 140)).toEqual([
      [2, 'defined'],
      [90, 'started'],
      [110, 'failed'],
    ]);
  });

  test('become active no earlier than the minimum activation height', async () => {
    expect(await statesAlong(paramsWith({ minActivationHeight: 125 }), () => SIGNAL, 140)).toEqual([
      [2, 'defined'],
      [90, 'started'],
      [100, 'locked_in'],
      [130, 'active'],
    ]);
  });
});
