import { type BlockHash, hashToHex } from '../primitives/hash.ts';
import { SCRIPT_FLAGS, type ScriptFlags } from '../script/flags.ts';
import type { BuriedDeployment, ConsensusParams } from './consensus-params.ts';

/** The buried deployments, in the order of Core's RPC. */
export const BURIED_DEPLOYMENTS: readonly BuriedDeployment[] = ['bip34', 'bip66', 'bip65', 'csv', 'segwit'];

/** Returns the height from which a buried deployment is active (BIP-90). */
export function activationHeight(name: BuriedDeployment, params: ConsensusParams): number {
  return params[`${name}Height`];
}

/** Whether a buried deployment is active for the block at `height`. */
export function isBuriedActive(name: BuriedDeployment, height: number, params: ConsensusParams): boolean {
  return height >= activationHeight(name, params);
}

/** Returns the flags with which the scripts of a block are verified (Core's GetBlockScriptFlags). */
export function blockScriptFlags(hash: BlockHash, height: number, params: ConsensusParams): ScriptFlags {
  // Only the exceptions violate these three, so they hold from the genesis block on.
  let flags =
    params.scriptFlagExceptions.get(hashToHex(hash)) ?? SCRIPT_FLAGS.P2SH | SCRIPT_FLAGS.WITNESS | SCRIPT_FLAGS.TAPROOT;
  if (height >= params.bip66Height) flags |= SCRIPT_FLAGS.DERSIG;
  if (height >= params.bip65Height) flags |= SCRIPT_FLAGS.CHECKLOCKTIMEVERIFY;
  if (height >= params.csvHeight) flags |= SCRIPT_FLAGS.CHECKSEQUENCEVERIFY;
  // BIP-147 activated with segwit.
  if (height >= params.segwitHeight) flags |= SCRIPT_FLAGS.NULLDUMMY;
  return flags;
}
