import { isCoinbase, type Transaction, transactionFromBytes } from '../../../primitives/transaction.ts';
import { MAX_SCRIPT_SIZE } from '../../../script/script-limits.ts';
import { hasValidOps } from '../../../script/script-reader.ts';
import { ByteReader, DecodeError, hexToBytes } from '../../../util/bytes.ts';
import { decodeUnsignedTx } from '../../../wallet/psbt/read-fields.ts';
import { rpcFail } from '../../engine/rpc-error.ts';

export interface HexForms {
  /** Whether to try the serialization with witnesses (BIP-144). */
  readonly witness?: boolean;
  /** Whether to try the serialization without witnesses, in which a transaction may have no inputs. */
  readonly plain?: boolean;
}

/**
 * Returns the transaction of a hex text. If both serializations are possible, the one with sane scripts is chosen. Throws
 * RpcError with `message` if the text is no transaction. Core's DecodeHexTx.
 */
export function readTransactionHex(
  hex: string,
  message: string,
  { witness = true, plain = false }: HexForms = {},
): Transaction {
  const extended = witness ? decoded(hex, transactionFromBytes) : null;
  if (extended !== null && hasSaneScripts(extended)) return extended;
  const legacy = plain ? decoded(hex, plainTransaction) : null;
  if (legacy !== null && hasSaneScripts(legacy)) return legacy;
  return extended ?? legacy ?? rpcFail('deserialization', message);
}

function decoded(hex: string, decode: (bytes: Uint8Array) => Transaction): Transaction | null {
  try {
    return decode(hexToBytes(hex));
  } catch (error) {
    if (error instanceof DecodeError) return null;
    throw error;
  }
}

function plainTransaction(bytes: Uint8Array): Transaction {
  const r = new ByteReader(bytes);
  const tx = decodeUnsignedTx(r);
  if (r.remaining > 0) throw new DecodeError('bytes after the transaction');
  return tx;
}

function hasSaneScripts(tx: Transaction): boolean {
  const isSane = (script: Uint8Array) => script.length <= MAX_SCRIPT_SIZE && hasValidOps(script);
  const inputs = isCoinbase(tx) ? [] : tx.inputs;
  return (
    inputs.every(({ scriptSig }) => isSane(scriptSig)) && tx.outputs.every(({ scriptPubKey }) => isSane(scriptPubKey))
  );
}
