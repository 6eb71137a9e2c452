import { bytesToHex } from '../util/bytes.ts';
import { SCRIPT_FLAGS } from './flags.ts';
import { Op, opcodeName } from './opcodes.ts';
import { readScriptNum } from './script-num.ts';
import { readOperations } from './script-reader.ts';
import { sighashName } from './sighash-type.ts';
import { checkSignatureEncoding } from './signature-encoding.ts';
import { isUnspendable } from './templates.ts';

/**
 * Formats a script as Core's RPC does: data of up to four bytes as a number, longer data as hex, `[error]` for a push
 * past the end. `sighashDecode`, for scriptSigs, appends the hash type of signatures as `[ALL]`.
 */
export function scriptToAsm(script: Uint8Array, { sighashDecode = false } = {}): string {
  const decode = sighashDecode && !isUnspendable(script);
  const words: string[] = [];
  for (const operation of readOperations(script)) {
    if (operation === null) words.push('[error]');
    else if (operation.opcode > Op.OP_PUSHDATA4) words.push(opcodeName(operation.opcode));
    else if (operation.data.length <= 4) words.push(String(readScriptNum(operation.data, false)));
    else words.push(decode ? withHashType(operation.data) : bytesToHex(operation.data));
  }
  return words.join(' ');
}

function withHashType(data: Uint8Array): string {
  const last = data.length - 1;
  const name = sighashName(data[last]!);
  if (name === null || checkSignatureEncoding(data, SCRIPT_FLAGS.STRICTENC) !== 'OK') return bytesToHex(data);
  return `${bytesToHex(data.subarray(0, last))}[${name}]`;
}
