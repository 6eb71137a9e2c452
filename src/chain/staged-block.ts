import type { BodyStats } from '../storage/header-store.ts';
import type { ChainEntry } from './chain-entry.ts';
import type { BlockEffects } from './connect-block.ts';
import type { ScriptFailure } from './script-verifier.ts';

/** A block connected in memory, that the next commit writes. */
export interface StagedBlock {
  readonly entry: ChainEntry;
  readonly effects: BlockEffects;
  /** Where its rows begin among those gathered. */
  readonly rowsMark: number;
  readonly stats: BodyStats;
  /** The state of the chain behind it. */
  readonly circulating: number;
  readonly utxos: number;
  readonly txs: number;
  /** Its encoded filter, where the index was that far when it was connected. */
  readonly filter: Uint8Array | null;
  /** What the script checks said; undefined until they did. */
  scriptFailure: ScriptFailure | null | undefined;
}
