import { MAX_MONEY } from '../../../primitives/amount.ts';
import type { Txid } from '../../../primitives/hash.ts';
import { type Outpoint, outpointKey } from '../../../primitives/outpoint.ts';
import type { TxOutput } from '../../../primitives/transaction.ts';
import { scriptToAsm } from '../../../script/asm.ts';
import { p2shOf, p2wshOf, scriptType } from '../../../script/templates.ts';
import { DecodeError, equalBytes, hexToBytes } from '../../../util/bytes.ts';
import type { SigningData } from '../../../wallet/keys/signing-data.ts';
import { isObject, member, type RpcObject, type RpcValue, typeName } from '../../engine/json.ts';
import { array, readAmount, readHashValue, readInteger } from '../../engine/params.ts';
import { rpcFail } from '../../engine/rpc-error.ts';
import { anyOf, arr, hashStr, hexStr, int, maybe, num, obj, str } from '../../engine/schema.ts';

/** Parameter for outputs that the caller describes, since the node may not know them. */
export const previousOutputsParam = array('prevtxs', (value) => value, {
  oneline:
    '[{"txid":"hex","vout":n,"scriptPubKey":"hex","redeemScript":"hex","witnessScript":"hex","amount":amount},...]',
  schema: arr(
    obj({
      txid: hashStr(),
      vout: int(),
      scriptPubKey: hexStr(),
      redeemScript: maybe(hexStr('needed for P2SH')),
      witnessScript: maybe(hexStr('needed for P2WSH and P2SH-P2WSH')),
      amount: maybe(anyOf(num('coins; needed to sign a segwit input'), str('the same as text'))),
    }),
  ),
  note: 'Outputs that the transaction spends, which the node may not know yet.',
});

/**
 * Parses an output that the caller describes, and adds its scripts to `keys`. The output must agree with the one that
 * the node knows. Without an amount its value is MAX_MONEY, which no segwit signature may commit to. A wallet knows the
 * scripts of its own addresses, so only calls without one require those of P2SH and P2WSH outputs, as in Core. Throws
 * RpcError with Core's texts.
 */
export function readPreviousOutput(
  value: RpcValue,
  known: ReadonlyMap<string, TxOutput | null>,
  keys: SigningData,
  { requireScripts }: { readonly requireScripts: boolean },
): { readonly outpoint: Outpoint; readonly output: TxOutput } {
  if (!isObject(value)) return rpcFail('deserialization', 'expected object with {"txid\'","vout","scriptPubKey"}');
  for (const [key, type] of [
    ['scriptPubKey', 'string'],
    ['txid', 'string'],
    ['vout', 'number'],
  ] as const) {
    if (member(value, key) === null) rpcFail('type', `Missing ${key}`);
    checkType(value, key, type);
  }
  const txid = readHashValue<Txid>(member(value, 'txid'), 'txid');
  const vout = readInteger(member(value, 'vout'));
  if (vout < 0) rpcFail('deserialization', 'vout cannot be negative');
  const outpoint = { txid, vout };
  const scriptPubKey = readHex(value, 'scriptPubKey');
  const before = known.get(outpointKey(outpoint));
  if (before && !equalBytes(before.scriptPubKey, scriptPubKey))
    rpcFail(
      'deserialization',
      `Previous output scriptPubKey mismatch:\n${scriptToAsm(before.scriptPubKey)}\nvs:\n${scriptToAsm(scriptPubKey)}`,
    );
  const amount = member(value, 'amount');
  const hasAmount = Object.hasOwn(value, 'amount');
  const output = { value: hasAmount ? readAmount(amount) : MAX_MONEY, scriptPubKey };
  const { type } = scriptType(scriptPubKey);
  if (type === 'scripthash' || type === 'witness_v0_scripthash') addScripts(value, scriptPubKey, keys, requireScripts);
  return { outpoint, output };
}

/** Adds a redeem script, a witness script or both. As in Core, `redeemScript` may also hold the witness script. */
function addScripts(value: RpcObject, scriptPubKey: Uint8Array, keys: SigningData, required: boolean): void {
  for (const key of ['redeemScript', 'witnessScript']) if (member(value, key) !== null) checkType(value, key, 'string');
  const hasRedeem = member(value, 'redeemScript') !== null;
  const hasWitness = member(value, 'witnessScript') !== null;
  if (!hasRedeem && !hasWitness) {
    if (required) rpcFail('invalidParameter', 'Missing redeemScript/witnessScript');
    return;
  }
  const script = readHex(value, hasWitness ? 'witnessScript' : 'redeemScript');
  keys.addScript(script);
  const program = p2wshOf(script);
  keys.addScript(program);
  if (hasRedeem && hasWitness && member(value, 'redeemScript') !== member(value, 'witnessScript'))
    if (!equalBytes(readHex(value, 'redeemScript'), program))
      rpcFail('invalidParameter', 'redeemScript does not correspond to witnessScript');
  const possible = [p2shOf(script), p2shOf(program), program];
  if (!possible.some((output) => equalBytes(output, scriptPubKey)))
    rpcFail('invalidParameter', 'redeemScript/witnessScript does not match scriptPubKey');
}

function checkType(object: RpcObject, key: string, type: string): void {
  const found = typeName(member(object, key));
  if (found !== type) rpcFail('type', `JSON value of type ${found} for field ${key} is not of expected type ${type}`);
}

function readHex(object: RpcObject, key: string): Uint8Array {
  const hex = member(object, key) as string;
  try {
    if (hex !== '') return hexToBytes(hex);
  } catch (error) {
    if (!(error instanceof DecodeError)) throw error;
  }
  return rpcFail('invalidParameter', `${key} must be hexadecimal string (not '${hex}')`);
}
