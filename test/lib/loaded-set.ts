import { writeFileSync } from 'node:fs';
import type { Chain } from '../../src/chain/chain.ts';
import { runIndexJob } from '../../src/indexes/index-job.ts';
import type { NetworkParams } from '../../src/params/network-params.ts';
import { regtest } from '../../src/params/regtest.ts';
import { hashFromHex } from '../../src/primitives/hash.ts';
import { loadUtxoSet } from '../../src/queries/utxo-load.ts';
import { COINS } from '../../src/storage/runs/run-family.ts';
import { RegtestChain } from './chain-builder.ts';
import { extend } from './sample-chains.ts';
import { lockOf } from './tx-builder.ts';
import { utxoFileOf } from './utxo-file-model.ts';

let shared: RegtestChain | null = null;

/** The chain of these tests: 125 blocks that began at a fixed time, so that every process makes the same one. */
export function setChain(): RegtestChain {
  if (shared === null) {
    shared = new RegtestChain({ to: lockOf('p2wpkh') });
    extend(shared, 125, 7);
  }
  return shared;
}

/** A file of the UTXO set of a chain at a height, and parameters of regtest that know it. */
export function setAt(chain: RegtestChain, height: number) {
  const file = utxoFileOf(chain.blocks.slice(0, height + 1));
  const set = { height, blockHash: chain.at(height).hash, hash: hashFromHex(file.hash), txs: file.txs };
  const params: NetworkParams = { ...regtest, assumedUtxoSets: [set] };
  return { ...file, height, params, baseHash: chain.at(height).hash };
}

/** Loads the file into a node that knows the headers. Returns the reason why it is not activated, or null. */
export async function loadInto(
  node: { readonly chain: Chain; readonly dir: string },
  { hex, coins, height, baseHash }: ReturnType<typeof setAt>,
  path: string,
): Promise<string | null> {
  writeFileSync(path, Uint8Array.fromHex(hex));
  const { chain } = node;
  const found = chain.findLoadableBase(baseHash);
  if (typeof found === 'string') return found;
  const id = chain.reserveRunId();
  const loaded = loadUtxoSet({ path, coins, baseHeight: height, runId: id, chainDir: node.dir }, () => {});
  const run = { family: COINS, id, run: loaded.run };
  return chain.activateUtxoSet({ baseHash, run, hash: loaded.hash, value: loaded.value, coins }, () => null);
}

/** Builds the indexes as far as blocks allow. */
export function buildIndexes({ indexes }: Chain): void {
  for (let planned = indexes.nextJob(); planned !== null; planned = indexes.nextJob())
    indexes.finishJob(planned, runIndexJob(planned.job));
}
