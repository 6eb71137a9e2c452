import { expect, test } from 'bun:test';
import { createLog } from '../../src/util/log.ts';
import { BLOCK_VERSION, RegtestChain } from '../lib/chain-builder.ts';
import { TestNode, trustingVerifier } from '../lib/chain-fixture.ts';

const PERIOD = 144;
const THRESHOLD = 108;
const SIGNAL_BIT_3 = BLOCK_VERSION | (1 << 3);
const UNKNOWN_RULES = 'Unknown new rules activated (versionbit 3)';
const INVALID_CHAIN = expect.stringMatching(
  /^Warning: Found invalid chain more than 6 blocks longer than our best chain/,
);

/** Three periods: nothing, `signals` blocks that signal, nothing. The block at height 431 is the last that is locked in. */
function chainWithSignals(version: number, signals: number): RegtestChain {
  const chain = new RegtestChain({ spacing: 60 });
  chain.mine(PERIOD - 1);
  chain.mine(signals, { version });
  chain.mine(2 * PERIOD - signals - 1);
  chain.mine(2);
  return chain;
}

/** A node whose blocks are old, so that it is in initial block download; and its warnings with their version bits. */
function startNode() {
  const lines: string[] = [];
  const write = (bytes: Uint8Array) => {
    for (const line of new TextDecoder().decode(bytes).trim().split('\n')) {
      const { msg, versionbit } = JSON.parse(line) as { msg: string; versionbit?: number };
      lines.push(versionbit === undefined ? msg : `${msg}: ${versionbit}`);
    }
    return bytes.length;
  };
  const log = createLog({ level: 'warn', format: 'json', write });
  return { node: new TestNode({ verifier: trustingVerifier, log }), lines, log };
}

/** Sets the clock to the end of the chain, so that initial block download ends with the next block. */
const meetNetwork = (node: TestNode, { tip }: RegtestChain) => node.clock.set(tip.time * 1000);

test('unknown rules are logged when they lock in, and are a warning once they are active', async () => {
  const chain = chainWithSignals(SIGNAL_BIT_3, THRESHOLD);
  const { node, lines, log } = startNode();
  await using _ = node;
  await node.take(chain.blocks.slice(1, 2 * PERIOD - 2));
  meetNetwork(node, chain);
  await node.take([chain.at(2 * PERIOD - 2)]);
  log.flush();
  expect([node.chain.initialSync, lines]).toEqual([false, []]);
  await node.take([chain.at(2 * PERIOD - 1)]);
  log.flush();
  expect([node.chain.warnings.messages, lines]).toEqual([[], ['unknown new rules locked in: 3']]);
  await node.take(chain.blocks.slice(2 * PERIOD, 3 * PERIOD - 1));
  expect(node.chain.warnings.messages).toEqual([]);
  await node.take([chain.at(3 * PERIOD - 1)]);
  expect([node.chain.warnings.messages, node.chain.warnings.unknownRules]).toEqual([[UNKNOWN_RULES], [3]]);
  await node.take([chain.at(3 * PERIOD)]);
  log.flush();
  expect(lines).toEqual(['unknown new rules locked in: 3', 'unknown new rules activated: 3']);
  await node.restart();
  expect(node.chain.warnings.messages).toEqual([UNKNOWN_RULES]);
  // Another branch may have decided otherwise.
  await node.chain.invalidateBlock(node.chain.tip.ancestor(3 * PERIOD - 1)!);
  expect(node.chain.warnings.unknownRules).toEqual([]);
});

test.each([
  ['one block fewer than the threshold signals', SIGNAL_BIT_3, THRESHOLD - 1],
  ['the bit belongs to the nonce space of miners (BIP-323)', BLOCK_VERSION | (1 << 5), PERIOD],
  ['the versions do not use version bits', 0x4000_0000 | (1 << 3), PERIOD],
])('there is no warning of unknown rules where %s', async (_, version, signals) => {
  const chain = chainWithSignals(version, signals);
  await using node = new TestNode({ verifier: trustingVerifier });
  await node.take(chain.blocks.slice(1, -1));
  meetNetwork(node, chain);
  await node.take([chain.tip]);
  expect([node.chain.initialSync, node.chain.warnings.messages]).toEqual([false, []]);
});

test('there is no warning of unknown rules during initial block download', async () => {
  const chain = chainWithSignals(SIGNAL_BIT_3, PERIOD);
  await using node = new TestNode({ verifier: trustingVerifier });
  await node.take(chain.blocks.slice(1));
  expect([node.chain.initialSync, node.chain.warnings.messages]).toEqual([true, []]);
});

test('an invalid chain is a warning while it is more than six blocks of work ahead of the tip', async () => {
  const chain = new RegtestChain();
  chain.mine(2);
  const invalid = chain.fork(1);
  invalid.append(invalid.build({ coinbaseValue: 51_0000_0000n }));
  invalid.mine(7);
  const { node, lines, log } = startNode();
  await using _ = node;
  meetNetwork(node, chain);
  // The headers of the branch arrive first; its first block is invalid once it is connected.
  await node.chain.acceptHeaders(invalid.blocks.slice(1).map(({ header }) => header));
  await node.take(chain.blocks.slice(1));
  expect(node.chain.warnings.messages).toEqual([]);
  await node.chain.submitBlock(invalid.at(3).raw);
  await node.chain.submitBlock(invalid.at(2).raw);
  expect(node.chain.tip.height).toBe(2);
  expect([node.chain.warnings.messages, node.chain.warnings.invalidChain]).toEqual([[INVALID_CHAIN], true]);
  log.flush();
  expect(lines).toContain('found an invalid chain more than 6 blocks longer than the best chain');
  await node.restart();
  expect(node.chain.warnings.invalidChain).toBe(true);
  chain.mine(1);
  await node.take([chain.tip]);
  expect(node.chain.warnings.messages).toEqual([]);
});
