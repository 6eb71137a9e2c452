import { type LoadedCoins, loadUtxoSet, type UtxoLoad } from '../../../queries/utxo-load.ts';
import { SnapshotError } from '../../../storage/utxo-snapshot.ts';
import { diskProblem } from '../../../util/disk-problem.ts';
import { rpcFail } from '../../engine/rpc-error.ts';

/** Loads the coins of a file in a reader worker. Returns JSON text. Throws RpcError. */
export function loadedText(load: UtxoLoad, checkpoint: () => void): string {
  try {
    const { run, hash, value } = loadUtxoSet(load, checkpoint);
    return JSON.stringify({ entries: run.entries, bytes: run.bytes, hash: hash.toHex(), value });
  } catch (error) {
    const problem = error instanceof SnapshotError ? error.message : diskProblem(error);
    if (problem === null) throw error;
    return rpcFail('internal', `Population failed: ${problem}`);
  }
}

/** Reads the text of `loadedText`. */
export function readLoaded(text: string): LoadedCoins {
  const { entries, bytes, hash, value } = JSON.parse(text) as {
    entries: number;
    bytes: number;
    hash: string;
    value: number;
  };
  return { run: { entries, bytes, image: null }, hash: Uint8Array.fromHex(hash), value };
}
