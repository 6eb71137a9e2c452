import { coins } from '../../http/core-number.ts';
import type { NetworkParams } from '../../params/network-params.ts';
import { weightOf } from '../../primitives/block.ts';
import { type Coin, coinHeight, isCoinbaseCoin } from '../../primitives/coin.ts';
import { hashToHex } from '../../primitives/hash.ts';
import type { TxInput } from '../../primitives/transaction.ts';
import { feeOf, type TxFacts, vsizeOf } from '../../queries/tx-facts.ts';
import { scriptToAsm } from '../../script/asm.ts';
import { coreScript } from './core-script.ts';

/**
 * Returns a transaction in the form of Core's RPC: with `withFee` including the fee, if it is known, and with
 * `withPrevouts` including the spent coins.
 */
export function coreTx(
  facts: TxFacts,
  params: Pick<NetworkParams, 'address'>,
  { withFee, withPrevouts }: { withFee: boolean; withPrevouts: boolean },
) {
  const { parsed, isCoinbase, spent } = facts;
  const { tx } = parsed;
  const fee = withFee ? feeOf(facts) : null;
  return {
    txid: hashToHex(parsed.txid),
    hash: hashToHex(parsed.wtxid),
    version: tx.version,
    size: parsed.raw.length,
    vsize: vsizeOf(parsed),
    weight: weightOf(parsed),
    locktime: tx.locktime,
    vin: tx.inputs.map((input, i) => coreInput(input, isCoinbase, withPrevouts ? (spent?.[i] ?? null) : null, params)),
    vout: tx.outputs.map(({ value, scriptPubKey }, n) => ({
      value: coins(value),
      n,
      scriptPubKey: coreScript(scriptPubKey, params),
    })),
    ...(fee !== null && { fee: coins(fee) }),
    hex: parsed.raw.toHex(),
  };
}

function coreInput(
  { prevout, scriptSig, witness, sequence }: TxInput,
  isCoinbase: boolean,
  coin: Coin | null,
  params: Pick<NetworkParams, 'address'>,
) {
  return {
    ...(isCoinbase
      ? { coinbase: scriptSig.toHex() }
      : {
          txid: hashToHex(prevout.txid),
          vout: prevout.vout,
          scriptSig: { asm: scriptToAsm(scriptSig, { sighashDecode: true }), hex: scriptSig.toHex() },
        }),
    ...(witness.length > 0 && { txinwitness: witness.map((item) => item.toHex()) }),
    ...(coin && {
      prevout: {
        generated: isCoinbaseCoin(coin),
        height: coinHeight(coin),
        value: coins(coin.output.value),
        scriptPubKey: coreScript(coin.output.scriptPubKey, params),
      },
    }),
    sequence,
  };
}
