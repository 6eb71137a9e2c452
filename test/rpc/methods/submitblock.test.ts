import { expect, test } from 'bun:test';
import { encodeBlock } from '../../../src/primitives/block.ts';
import { ByteWriter, bytesToHex } from '../../../src/util/bytes.ts';
import { chainWithCoins, type TestBlock } from '../../lib/chain-builder.ts';
import { cleanUpAfterTests, startNode } from '../../lib/node-process.ts';
import { sweep } from '../../lib/tx-builder.ts';

cleanUpAfterTests();

const hexOf = ({ raw }: TestBlock) => bytesToHex(raw);

/** Returns a block as a miner sends it that does not know witnesses of coinbases. */
function withoutCoinbaseWitness({ block }: TestBlock): string {
  const [coinbase, ...rest] = block.transactions;
  const bare = { ...coinbase!, inputs: coinbase!.inputs.map((input) => ({ ...input, witness: [] })) };
  const w = new ByteWriter(4096);
  encodeBlock(w, { ...block, transactions: [bare, ...rest] });
  return bytesToHex(w.finish());
}

test('submitblock returns the result of BIP-22 for each outcome', async () => {
  const chain = chainWithCoins(1, 'p2wsh-anyone');
  const spending = chain.fork();
  const node = await startNode();
  const submit = async (hex: string) => (await node.api.rpcBody({ id: 1, method: 'submitblock', params: [hex] })).body;
  for (const block of chain.blocks.slice(1)) expect(await submit(hexOf(block))).toMatchObject({ result: null });

  expect(await submit(hexOf(chain.tip))).toMatchObject({ result: 'duplicate' });
  for (const hex of ['', '00', '00'.repeat(80), `${'00'.repeat(80)}01`])
    expect(await submit(hex)).toMatchObject({ error: { code: -22, message: 'Block decode failed' } });
  // A header without transactions, and with bytes behind it.
  expect(await submit('00'.repeat(90))).toMatchObject({ result: 'high-hash' });
  // Bytes behind a block are ignored.
  expect(await submit(`${hexOf(chain.tip)}00ff`)).toMatchObject({ result: 'duplicate' });
  expect(await submit(`${hexOf(chain.build({ work: false }))}00`)).toMatchObject({ result: 'high-hash' });
  expect(await submit(hexOf(chain.build({ work: false })))).toMatchObject({ result: 'high-hash' });
  expect(await submit(hexOf(chain.build({ coinbaseValue: 50_0000_0001n })))).toMatchObject({ result: 'bad-cb-amount' });
  expect(await submit(hexOf(chain.fork(50).mine()))).toMatchObject({ result: 'inconclusive' });

  const coin = spending.coin(1);
  const withWitness = spending.mine(1, { txs: [sweep(coin, 'p2wsh-anyone')] });
  expect(await submit(`${withoutCoinbaseWitness(withWitness)}00`)).toMatchObject({ result: null });
  expect((await node.api.json<{ bestBlockHash: string }>('/api/info')).bestBlockHash).toBe(
    bytesToHex(withWitness.hash.toReversed()),
  );
});
