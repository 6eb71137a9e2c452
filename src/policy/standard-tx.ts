import { reject, type TxRejection } from '../consensus/rejection.ts';
import type { Transaction } from '../primitives/transaction.ts';
import { isPushOnly } from '../script/script-reader.ts';
import { type ScriptType, scriptType } from '../script/templates.ts';
import { dustOutputs } from './dust.ts';
import type { RelayOptions } from './relay-options.ts';

/**
 * Maximum weight of a standard transaction: signature hashing grows with inputs times size, so larger ones cost the
 * network more than they pay for.
 */
export const MAX_STANDARD_TX_WEIGHT = 400_000;
/** Maximum number of dust outputs: one is allowed as ephemeral dust, which a child must spend. */
const MAX_DUST_OUTPUTS_PER_TX = 1;

const MIN_STANDARD_VERSION = 1;
const MAX_STANDARD_VERSION = 3;
/** Fifteen signatures with their redeem script take 1,627 bytes. */
const MAX_STANDARD_SCRIPT_SIG_SIZE = 1650;
const MAX_BARE_MULTISIG_KEYS = 3;

/** Returns the type of an output script; null if it is not standard. */
export function standardScriptType(scriptPubKey: Uint8Array): ScriptType | null {
  const { type, solutions } = scriptType(scriptPubKey);
  if (type === 'nonstandard') return null;
  // The template ensures that there are no more signatures than keys.
  if (type === 'multisig' && solutions.at(-1)![0]! > MAX_BARE_MULTISIG_KEYS) return null;
  return type;
}

/** Checks the form of a transaction without its context (Core's IsStandardTx). `weight` as of BIP-141. */
export function checkStandardTx(
  tx: Transaction,
  { weight }: { readonly weight: number },
  options: Pick<RelayOptions, 'datacarrier' | 'permitBareMultisig' | 'dustFeerate'>,
): TxRejection | null {
  if (tx.version < MIN_STANDARD_VERSION || tx.version > MAX_STANDARD_VERSION) return reject('policy', 'version');
  if (weight > MAX_STANDARD_TX_WEIGHT) return reject('policy', 'tx-size');

  for (const { scriptSig } of tx.inputs) {
    if (scriptSig.length > MAX_STANDARD_SCRIPT_SIG_SIZE) return reject('policy', 'scriptsig-size');
    // Other operations could be changed by third parties without invalidating signatures.
    if (!isPushOnly(scriptSig)) return reject('policy', 'scriptsig-not-pushonly');
  }

  let datacarrierLeft = options.datacarrier ?? 0;
  for (const { scriptPubKey } of tx.outputs) {
    const type = standardScriptType(scriptPubKey);
    if (type === null) return reject('policy', 'scriptpubkey');
    if (type === 'nulldata') {
      if (scriptPubKey.length > datacarrierLeft) return reject('policy', 'datacarrier');
      datacarrierLeft -= scriptPubKey.length;
    } else if (type === 'multisig' && !options.permitBareMultisig) return reject('policy', 'bare-multisig');
  }

  if (dustOutputs(tx, options.dustFeerate).length > MAX_DUST_OUTPUTS_PER_TX) return reject('policy', 'dust');
  return null;
}
