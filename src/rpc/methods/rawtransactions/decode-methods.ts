import { hash160 } from '../../../crypto/hash-functions.ts';
import type { ReadEnv } from '../../../queries/read-env.ts';
import { addressOf } from '../../../script/address.ts';
import { isOpSuccess, Op } from '../../../script/opcodes.ts';
import { hasValidOps, readOperations } from '../../../script/script-reader.ts';
import { isUnspendable, p2shOf, p2wpkh, p2wshOf, type ScriptTemplate, scriptType } from '../../../script/templates.ts';
import { hexToBytes, isHex } from '../../../util/bytes.ts';
import { coreScript } from '../../../views/core/core-script.ts';
import { decodedTx } from '../../../views/core/decoded-tx.ts';
import { inferDescriptor } from '../../../wallet/descriptor/infer.ts';
import { maxScriptSize } from '../../../wallet/descriptor/miniscript/fragment.ts';
import { SigningData } from '../../../wallet/keys/signing-data.ts';
import { EXAMPLE, example } from '../../engine/example.ts';
import { type RpcMethod, rpcMethod } from '../../engine/method.ts';
import { flagParam, optional, textParam } from '../../engine/params.ts';
import { rpcFail } from '../../engine/rpc-error.ts';
import { hexStr, maybe, obj, str } from '../../engine/schema.ts';
import { bareTx, SCRIPT_TYPE_NOTE } from '../schemas.ts';
import { readTransactionHex } from './transaction-hex.ts';

/** Microseconds to decode and show a character of hex. */
const SHOW_US = 0.2;
/** Microseconds per byte to search a script for a miniscript. */
const MINISCRIPT_US = 10;

const decoderawtransaction = rpcMethod({
  name: 'decoderawtransaction',
  category: 'rawtransactions',
  help: 'Returns a serialized transaction as an object.',
  params: [
    textParam('hexstring', { schema: hexStr(), note: 'Serialized transaction.' }),
    optional(
      flagParam('iswitness', {
        note: 'True if it is serialized with witnesses (BIP-144), false if without; both are tried by default.',
      }),
      null,
    ),
  ],
  result: bareTx,
  examples: [example([EXAMPLE.signedTransaction]), example([EXAMPLE.transaction, false])],
  scope: 'read',
  run(env, hex, isWitness) {
    env.expectWork(hex.length * SHOW_US);
    const forms = { witness: isWitness ?? true, plain: !(isWitness ?? false) };
    return decodedTx(readTransactionHex(hex, 'TX decode failed', forms), env.params);
  },
});

const decodescript = rpcMethod({
  name: 'decodescript',
  category: 'rawtransactions',
  help: 'Returns a script in readable form, and the addresses of outputs that commit to it.',
  params: [textParam('hexstring', { schema: hexStr(), note: 'Script; may be empty.' })],
  result: obj({
    asm: str('script in words'),
    desc: str('inferred descriptor'),
    type: str(SCRIPT_TYPE_NOTE),
    address: maybe(str('if the script has an address')),
    p2sh: maybe(str('P2SH address with the script as its redeem script')),
    segwit: maybe(
      obj(
        {
          asm: str('script in words'),
          hex: hexStr('bytes of the script'),
          type: str('kind of the script'),
          address: maybe(str('address of the script')),
          desc: str('inferred descriptor'),
          'p2sh-segwit': str('P2SH address that wraps this output script'),
        },
        'segwit output script for the same key, or with the script as its witness script',
      ),
    ),
  }),
  examples: [example(['76a914751e76e8199196d454941c45d1b3a323f1433bd688ac'])],
  scope: 'read',
  run({ params, expectWork }, hex) {
    expectWork(hex.length * SHOW_US + Math.min(hex.length / 2, maxScriptSize('p2wsh')) * MINISCRIPT_US);
    if (hex !== '' && !isHex(hex))
      return rpcFail('invalidParameter', `argument must be hexadecimal string (not '${hex}')`);
    const script = hexToBytes(hex);
    const { hex: _, ...shown } = coreScript(script, params);
    const template = scriptType(script);
    if (!canBeHashed(script, template)) return shown;
    const p2sh = addressOf(p2shOf(script), params.address);
    if (!canBeInWitness(template)) return { ...shown, p2sh };
    return { ...shown, p2sh, segwit: segwitView(script, template, params) };
  },
});

/** Whether a P2SH output with this redeem script could be spent, as far as the form of the script shows. */
function canBeHashed(script: Uint8Array, { type }: ScriptTemplate): boolean {
  switch (type) {
    case 'nulldata':
    case 'scripthash':
    case 'witness_unknown':
    case 'witness_v1_taproot':
    case 'anchor':
      return false;
    default:
  }
  if (!hasValidOps(script) || isUnspendable(script)) return false;
  for (const operation of readOperations(script))
    if (operation!.opcode === Op.OP_CHECKSIGADD || isOpSuccess(operation!.opcode)) return false;
  return true;
}

/** Whether the script may be a witness script: it is no witness program and has no uncompressed key. */
function canBeInWitness({ type, solutions }: ScriptTemplate): boolean {
  if (type === 'multisig' || type === 'pubkey') return solutions.every(({ length }) => length === 1 || length === 33);
  return type === 'nonstandard' || type === 'pubkeyhash';
}

function segwitView(script: Uint8Array, { type, solutions }: ScriptTemplate, params: ReadEnv['params']) {
  const known = new SigningData();
  let output: Uint8Array;
  if (type === 'pubkey') output = p2wpkh(hash160(solutions[0]!));
  else if (type === 'pubkeyhash') output = p2wpkh(solutions[0]!);
  else {
    known.addScript(script);
    output = p2wshOf(script);
  }
  return {
    ...coreScript(output, params),
    desc: inferDescriptor(output, known, params).toString(),
    'p2sh-segwit': addressOf(p2shOf(output), params.address),
  };
}

export const decodeMethods: readonly RpcMethod[] = [decoderawtransaction, decodescript];
