import { type BlockHash, hashToHex } from '../primitives/hash.ts';
import { SCRIPT_FLAGS, type ScriptFlags } from '../script/flags.ts';
import type { BuriedDeployment, ConsensusParams } from './consensus-params.ts';

/** In the order in which RPC lists them. */
export const BURIED_DEPLOYMENTS: readonly BuriedDeployment[] = ['bip34', 'bip66', 'bip65', 'csv', 'segwit'];

/** Height from which a buried rule holds (BIP-90). */
export function activationHeight(name: BuriedDeployment, params: ConsensusParams): number {
  return params[`${name}Height`];
}

/** Whether a buried rule holds for the block at `height`. */
export function isBuriedActive(name: BuriedDeployment, height: number, params: ConsensusParams): boolean {
  return height >= activationHeight(name, params);
}

/** The flags under which the scripts of a block are judged. */
export function blockScriptFlags(hash: BlockHash, height: number, params: ConsensusParams): ScriptFlags {
  // Only the blocks of the exceptions ever broke these three, so they hold from the beginning.
  let flags =
    params.scriptFlagExceptions.get(hashToHex(hash)) ?? SCRIPT_FLAGS.P2SH | SCRIPT_FLAGS.WITNESS | SCRIPT_FLAGS.TAPROOT;
  if (height >= params.bip66Height) flags |= SCRIPT_FLAGS.DERSIG;
  if (height >= params.bip65Height) flags |= SCRIPT_FLAGS.CHECKLOCKTIMEVERIFY;
  if (height >= params.csvHeight) flags |= SCRIPT_FLAGS.CHECKSEQUENCEVERIFY;
  // BIP-147 came with segwit.
  if (height >= params.segwitHeight) flags |= SCRIPT_FLAGS.NULLDUMMY;
  return flags;
}
