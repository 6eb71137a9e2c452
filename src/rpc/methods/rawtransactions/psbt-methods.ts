import { coins } from '../../../http/core-number.ts';
import type { ParsedTransaction } from '../../../primitives/block.ts';
import { hashToHex } from '../../../primitives/hash.ts';
import { type Transaction, transactionBytes } from '../../../primitives/transaction.ts';
import type { ReadEnv } from '../../../queries/read-env.ts';
import { DecodeError } from '../../../util/bytes.ts';
import { systemRandomBelow } from '../../../util/random.ts';
import { corePsbt } from '../../../views/core/core-psbt.ts';
import type { SigningProvider } from '../../../wallet/keys/signing-data.ts';
import { SigningData } from '../../../wallet/keys/signing-data.ts';
import { analyzePsbt } from '../../../wallet/psbt/analyze.ts';
import { combinePsbts } from '../../../wallet/psbt/combine.ts';
import { decodePsbtBase64 } from '../../../wallet/psbt/decode.ts';
import { encodePsbtBase64 } from '../../../wallet/psbt/encode.ts';
import { joinPsbts } from '../../../wallet/psbt/join.ts';
import { createPsbt, type Psbt, type PsbtVersion } from '../../../wallet/psbt/psbt.ts';
import {
  finalizePsbt,
  finalTransaction,
  isSignedAndVerified,
  PSBT_ERROR_TEXTS,
  psbtContext,
  type SignPsbtOptions,
} from '../../../wallet/psbt/sign-psbt.ts';
import { processPsbt, type UtxoLookup } from '../../../wallet/psbt/update.ts';
import { hideFrom } from '../../../wallet/signing/providers.ts';
import { rpcMethod } from '../../engine/method.ts';
import { array, flag, integer, optional, readString, text } from '../../engine/params.ts';
import { rpcFail } from '../../engine/rpc-error.ts';
import { str } from '../../engine/schema.ts';
import { addScanObjects, SCAN_OBJECTS } from '../blockchain/scan-objects.ts';
import { makeTransaction, makingUs, TRANSACTION_PARAMS } from './make-transaction.ts';
import { ANALYSED_PSBT, DECODED_PSBT, FINAL_PSBT, PROCESSED_PSBT } from './psbt-shapes.ts';
import { readSighashName } from './sign-methods.ts';
import { findOutput, findTransaction } from './spent-outputs.ts';
import { readTransactionHex } from './transaction-hex.ts';

/** Microseconds to read a character of Base64, and to check or make the signatures of an input. */
const READ_US = 0.1;
const INPUT_US = 600;
/** And a participant's part of a MuSig2 signature. */
const MUSIG_PART_US = 1500;
/** Core's largest PSBT. */
const MAX_FOUND_BYTES = 100_000_000;

const VERSION = 2;
const psbtVersion = () => optional(integer('psbt_version', { unsigned: true }), VERSION);
const psbts = () => array('txs', readString, { oneline: '["psbt",...]' });
const descriptors = () =>
  array('descriptors', (value) => value, {
    oneline: '["",{"desc":"str","range":n or [n,n]},...]',
    schema: SCAN_OBJECTS,
  });

function readPsbt(env: ReadEnv, base64: string): Psbt {
  env.expectWork(base64.length * READ_US);
  try {
    return decodePsbtBase64(base64);
  } catch (error) {
    if (!(error instanceof DecodeError)) throw error;
    return rpcFail('deserialization', `TX decode failed ${error.message}`);
  }
}

function checkVersion(version: number): PsbtVersion {
  return version === 0 || version === 2 ? version : rpcFail('invalidParameter', 'The PSBT version can only be 2 or 0');
}

export const createpsbt = rpcMethod({
  name: 'createpsbt',
  category: 'rawtransactions',
  help: 'A PSBT of a transaction that spends and pays what is named. Nothing is looked up or sent.',
  params: [...TRANSACTION_PARAMS, psbtVersion()],
  result: str('PSBT in Base64'),
  scope: 'read',
  run(env, inputs, outputs, locktime, replaceable, txVersion, version) {
    env.expectWork(makingUs({ inputs, outputs }));
    const tx = makeTransaction({ inputs, outputs, locktime, replaceable, version: txVersion }, env.params);
    return encodePsbtBase64(createPsbt(tx, checkVersion(version)));
  },
});

export const converttopsbt = rpcMethod({
  name: 'converttopsbt',
  category: 'rawtransactions',
  help: 'A PSBT of a transaction in hex.',
  params: [text('hexstring'), optional(flag('permitsigdata'), false), optional(flag('iswitness'), null), psbtVersion()],
  result: str('PSBT in Base64'),
  scope: 'read',
  run(env, hex, permitSignatures, isWitness, version) {
    env.expectWork(hex.length * READ_US);
    const forms = { witness: isWitness ?? true, plain: !(isWitness ?? false) };
    const tx = readTransactionHex(hex, 'TX decode failed', forms);
    if (!permitSignatures && hasSignatures(tx))
      rpcFail('deserialization', 'Inputs must not have scriptSigs and scriptWitnesses');
    return encodePsbtBase64(createPsbt(tx, checkVersion(version)));
  },
});

function hasSignatures({ inputs }: Transaction): boolean {
  return inputs.some(({ scriptSig, witness }) => scriptSig.length > 0 || witness.length > 0);
}

export const decodepsbt = rpcMethod({
  name: 'decodepsbt',
  category: 'rawtransactions',
  help: 'A PSBT as an object.',
  params: [text('psbt')],
  result: DECODED_PSBT,
  scope: 'read',
  run: (env, base64) => corePsbt(readPsbt(env, base64), env.params),
});

export const combinepsbt = rpcMethod({
  name: 'combinepsbt',
  category: 'rawtransactions',
  help: 'What several PSBTs of one transaction know, in one.',
  params: [psbts()],
  result: str('PSBT in Base64'),
  scope: 'read',
  run(env, texts) {
    if (texts.length === 0) return rpcFail('invalidParameter', "Parameter 'txs' cannot be empty");
    const combined = combinePsbts(texts.map((base64) => readPsbt(env, base64)));
    return combined === null
      ? rpcFail('invalidParameter', 'PSBTs not compatible (different transactions)')
      : encodePsbtBase64(combined);
  },
});

export const joinpsbts = rpcMethod({
  name: 'joinpsbts',
  category: 'rawtransactions',
  help: 'One PSBT of version 0 that spends and pays all that several do.',
  params: [psbts()],
  result: str('PSBT in Base64'),
  scope: 'read',
  run(env, texts) {
    if (texts.length <= 1) return rpcFail('invalidParameter', 'At least two PSBTs are required to join PSBTs.');
    const list = texts.map((base64) => {
      const psbt = readPsbt(env, base64);
      if (psbt.version !== 0) rpcFail('invalidParameter', 'joinpsbts only operates on version 0 PSBTs');
      return psbt;
    });
    const joined = joinPsbts(list, systemRandomBelow);
    return joined.ok ? encodePsbtBase64(joined.value) : rpcFail('invalidParameter', joined.error);
  },
});

export const finalizepsbt = rpcMethod({
  name: 'finalizepsbt',
  category: 'rawtransactions',
  help: 'Makes scriptSigs and witnesses of the signatures in a PSBT; the transaction, where that is all it takes.',
  params: [text('psbt'), optional(flag('extract'), true)],
  result: FINAL_PSBT,
  scope: 'read',
  run(env, base64, extract) {
    const given = readPsbt(env, base64);
    env.expectWork(signingUs(given));
    const { psbt, complete } = finalizePsbt(given, stillWanted(env));
    const tx = complete && extract ? finalTransaction(psbt) : null;
    return {
      ...(tx === null ? { psbt: encodePsbtBase64(psbt) } : { hex: transactionBytes(tx).toHex() }),
      complete,
    };
  },
});

export const analyzepsbt = rpcMethod({
  name: 'analyzepsbt',
  category: 'rawtransactions',
  help: 'What a PSBT still needs, and who has to work on it next.',
  params: [text('psbt')],
  result: ANALYSED_PSBT,
  scope: 'read',
  run(env, base64) {
    const psbt = readPsbt(env, base64);
    env.expectWork(signingUs(psbt));
    const { inputs, fee, estimatedVsize, estimatedFeerate, next, error } = analyzePsbt(psbt, stillWanted(env));
    return {
      ...(inputs.length > 0 && { inputs: inputs.map(inputView) }),
      ...(estimatedVsize !== null && { estimated_vsize: estimatedVsize }),
      ...(estimatedFeerate !== null && { estimated_feerate: coins(estimatedFeerate) }),
      ...(fee !== null && { fee: coins(fee) }),
      next,
      ...(error !== null && { error }),
    };
  },
});

function inputView(input: ReturnType<typeof analyzePsbt>['inputs'][number]) {
  const { missingKeys, missingSignatures, missingRedeemScript, missingWitnessScript } = input;
  const missing = {
    ...(missingKeys.length > 0 && { pubkeys: missingKeys.map((key) => key.toHex()) }),
    ...(missingRedeemScript && { redeemscript: missingRedeemScript.toHex() }),
    ...(missingWitnessScript && { witnessscript: missingWitnessScript.toHex() }),
    ...(missingSignatures.length > 0 && { signatures: missingSignatures.map((key) => key.toHex()) }),
  };
  return {
    has_utxo: input.hasUtxo,
    is_final: input.isFinal,
    next: input.next,
    ...(Object.keys(missing).length > 0 && { missing }),
  };
}

export const utxoupdatepsbt = rpcMethod({
  name: 'utxoupdatepsbt',
  category: 'rawtransactions',
  help: 'Fills into a PSBT what it spends, and what descriptors say of its scripts and keys.',
  params: [text('psbt'), optional(descriptors(), null)],
  result: str('PSBT in Base64'),
  scope: 'read',
  run(env, base64, scanObjects) {
    const data = new SigningData();
    addScanObjects(env, scanObjects ?? [], data, false);
    const provider = hideFrom(data, { privateKeys: true });
    return encodePsbtBase64(processed(env, base64, provider, { finalize: false }));
  },
  spends: (env, base64) => readPsbt(env, base64).inputs.map(({ prevout }) => prevout),
});

export const descriptorprocesspsbt = rpcMethod({
  name: 'descriptorprocesspsbt',
  category: 'rawtransactions',
  help: 'Fills a PSBT like utxoupdatepsbt, and signs it with the private keys in the descriptors.',
  params: [
    text('psbt'),
    descriptors(),
    optional(text('sighashtype', { note: 'DEFAULT for taproot and ALL else, where it is left out' }), null),
    optional(flag('bip32derivs'), true),
    optional(flag('finalize'), true),
  ],
  result: PROCESSED_PSBT,
  scope: 'read',
  run(env, base64, scanObjects, sighashName, derivations, finalize) {
    const data = new SigningData();
    addScanObjects(env, scanObjects, data, true);
    const sighashType = readSighashName(sighashName);
    const provider = hideFrom(data, { origins: !derivations });
    const psbt = processed(env, base64, provider, { sighashType, finalize });
    const context = psbtContext(psbt)!;
    const complete = psbt.inputs.every((input, i) => {
      env.expectWork(0);
      return isSignedAndVerified(context, input, i);
    });
    const tx = complete ? finalTransaction(psbt) : null;
    return {
      psbt: encodePsbtBase64(psbt),
      complete,
      ...(tx !== null && { hex: transactionBytes(tx).toHex() }),
    };
  },
  spends: (env, base64) => readPsbt(env, base64).inputs.map(({ prevout }) => prevout),
});

function processed(env: ReadEnv, base64: string, provider: SigningProvider, options: SignPsbtOptions): Psbt {
  const psbt = readPsbt(env, base64);
  env.expectWork(signingUs(psbt));
  const outcome = processPsbt(psbt, lookupIn(env), provider, options, stillWanted(env));
  if (outcome.ok) return outcome.value;
  const isMismatch = outcome.error === PSBT_ERROR_TEXTS['sighash-mismatch'];
  return rpcFail(isMismatch ? 'deserialization' : 'verify', outcome.error);
}

function signingUs({ inputs }: Psbt): number {
  const parts = inputs.reduce((sum, { musigPartialSignatures }) => sum + musigPartialSignatures.size, 0);
  return inputs.length * INPUT_US + parts * MUSIG_PART_US;
}

/** Every input that spends an output of a transaction brings the whole of it. */
function lookupIn(env: ReadEnv): UtxoLookup {
  const known = new Map<string, ParsedTransaction | null>();
  let bytes = 0;
  return {
    transaction(txid) {
      const hex = hashToHex(txid);
      const found = known.get(hex) ?? findTransaction(env, txid);
      known.set(hex, found);
      bytes += found?.raw.length ?? 0;
      if (bytes > MAX_FOUND_BYTES)
        rpcFail('resourceFull', 'The transactions that the inputs spend are too large', 'limit_exceeded');
      return found?.tx ?? null;
    },
    coin: (outpoint) => findOutput(env, outpoint),
  };
}

/** Asks whether anybody waits for the answer still. */
function stillWanted({ expectWork }: ReadEnv): () => void {
  return () => expectWork(0);
}
