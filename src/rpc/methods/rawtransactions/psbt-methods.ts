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
import { decodePsbtBase64 } from '../../../wallet/psbt/decode-psbt.ts';
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
import { EXAMPLE, example } from '../../engine/example.ts';
import { type RpcMethod, rpcMethod } from '../../engine/method.ts';
import { array, flagParam, integerParam, optional, readString, textParam } from '../../engine/params.ts';
import { rpcFail } from '../../engine/rpc-error.ts';
import { hexStr, str } from '../../engine/schema.ts';
import { addScanObjects, SCAN_OBJECTS } from '../blockchain/scan-objects.ts';
import { makeTransaction, makeTransactionUs, TRANSACTION_EXAMPLES, TRANSACTION_PARAMS } from './make-transaction.ts';
import { ANALYSED_PSBT, DECODED_PSBT, FINAL_PSBT, PROCESSED_PSBT } from './psbt-schemas.ts';
import { readSighashName, SIGHASH_NOTE } from './sign-methods.ts';
import { findOutput, findTransaction } from './spent-outputs.ts';
import { readTransactionHex } from './transaction-hex.ts';

/** Microseconds to decode a character of Base64. */
const READ_US = 0.1;
/** Microseconds to verify or make the signatures of an input. */
const INPUT_US = 600;
/** Microseconds for one partial signature of MuSig2. */
const MUSIG_PART_US = 1500;
/** Core's largest PSBT. */
const MAX_FOUND_BYTES = 100_000_000;

const VERSION = 2;
const psbtVersion = () =>
  optional(
    integerParam('psbt_version', { unsigned: true, note: 'Version of the PSBT: 2 (BIP-370) or 0 (BIP-174).' }),
    VERSION,
  );
const psbt = () => textParam('psbt', { note: 'PSBT in Base64.' });
const psbts = (note: string) => array('txs', readString, { oneline: '["psbt",...]', note });
const descriptors = () =>
  array('descriptors', (value) => value, {
    oneline: '["",{"desc":"str","range":n or [n,n]},...]',
    schema: SCAN_OBJECTS,
    note: 'Descriptors of the outputs that the PSBT spends and pays.',
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

const createpsbt = rpcMethod({
  name: 'createpsbt',
  category: 'rawtransactions',
  help: 'Returns a PSBT with the given inputs and outputs. Neither wallet nor chain is read, and nothing is sent.',
  params: [...TRANSACTION_PARAMS, psbtVersion()],
  result: str('PSBT in Base64'),
  examples: TRANSACTION_EXAMPLES,
  scope: 'read',
  run(env, inputs, outputs, locktime, replaceable, txVersion, version) {
    env.expectWork(makeTransactionUs({ inputs, outputs }));
    const tx = makeTransaction({ inputs, outputs, locktime, replaceable, version: txVersion }, env.params);
    return encodePsbtBase64(createPsbt(tx, checkVersion(version)));
  },
});

const converttopsbt = rpcMethod({
  name: 'converttopsbt',
  category: 'rawtransactions',
  help: 'Converts a serialized transaction into a PSBT.',
  params: [
    textParam('hexstring', { schema: hexStr(), note: 'Serialized transaction.' }),
    optional(
      flagParam('permitsigdata', {
        note: 'Whether signatures of the transaction are dropped. If false, a transaction with signatures is rejected.',
      }),
      false,
    ),
    optional(
      flagParam('iswitness', {
        note: 'True if it is serialized with witnesses (BIP-144), false if without; both are tried by default.',
      }),
      null,
    ),
    psbtVersion(),
  ],
  result: str('PSBT in Base64'),
  examples: [example([EXAMPLE.transaction]), example([EXAMPLE.signedTransaction, true])],
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

const decodepsbt = rpcMethod({
  name: 'decodepsbt',
  category: 'rawtransactions',
  help: 'Returns a PSBT as an object.',
  params: [psbt()],
  result: DECODED_PSBT,
  examples: [example([EXAMPLE.psbt])],
  scope: 'read',
  run: (env, base64) => corePsbt(readPsbt(env, base64), env.params),
});

const combinepsbt = rpcMethod({
  name: 'combinepsbt',
  category: 'rawtransactions',
  help: 'Merges several PSBTs of the same transaction into one with the data of all.',
  params: [psbts('One or more PSBTs of the same transaction, in Base64.')],
  result: str('PSBT in Base64'),
  examples: [example([[EXAMPLE.psbt, EXAMPLE.psbt]])],
  scope: 'read',
  run(env, texts) {
    if (texts.length === 0) return rpcFail('invalidParameter', "Parameter 'txs' cannot be empty");
    const combined = combinePsbts(texts.map((base64) => readPsbt(env, base64)));
    return combined === null
      ? rpcFail('invalidParameter', 'PSBTs not compatible (different transactions)')
      : encodePsbtBase64(combined);
  },
});

const joinpsbts = rpcMethod({
  name: 'joinpsbts',
  category: 'rawtransactions',
  help: 'Joins PSBTs of different transactions into one transaction with all their inputs and outputs, in random order.',
  params: [psbts('Two or more PSBTs of version 0, in Base64, without common inputs.')],
  result: str('PSBT of version 0 in Base64'),
  examples: [example([[EXAMPLE.psbt, EXAMPLE.otherPsbt]])],
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

const finalizepsbt = rpcMethod({
  name: 'finalizepsbt',
  category: 'rawtransactions',
  help: 'Builds the scriptSigs and witnesses of a signed PSBT, and returns the transaction if all inputs are complete.',
  params: [
    psbt(),
    optional(
      flagParam('extract', {
        note: 'Whether a complete transaction is returned as hex; otherwise the PSBT is returned.',
      }),
      true,
    ),
  ],
  result: FINAL_PSBT,
  examples: [example([EXAMPLE.psbt])],
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

const analyzepsbt = rpcMethod({
  name: 'analyzepsbt',
  category: 'rawtransactions',
  help: 'Analyzes what a PSBT lacks and which role has to process it next.',
  params: [psbt()],
  result: ANALYSED_PSBT,
  examples: [example([EXAMPLE.psbt])],
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

const utxoupdatepsbt = rpcMethod({
  name: 'utxoupdatepsbt',
  category: 'rawtransactions',
  help: 'Adds to a PSBT the spent outputs that the chain or the mempool has, and the scripts and keys of descriptors.',
  params: [psbt(), optional(descriptors(), null)],
  result: str('PSBT in Base64'),
  examples: [example([EXAMPLE.psbt]), example([EXAMPLE.psbt, [EXAMPLE.descriptor]])],
  scope: 'read',
  run(env, base64, scanObjects) {
    const data = new SigningData();
    addScanObjects(env, scanObjects ?? [], data, false);
    const provider = hideFrom(data, { privateKeys: true });
    return encodePsbtBase64(processed(env, base64, provider, { finalize: false }));
  },
  spends: (env, base64) => readPsbt(env, base64).inputs.map(({ prevout }) => prevout),
});

const descriptorprocesspsbt = rpcMethod({
  name: 'descriptorprocesspsbt',
  category: 'rawtransactions',
  help: 'Updates a PSBT as utxoupdatepsbt does, and signs it with the private keys of the descriptors. The keys are not stored.',
  params: [
    psbt(),
    descriptors(),
    optional(textParam('sighashtype', { note: SIGHASH_NOTE }), null),
    optional(
      flagParam('bip32derivs', { note: 'Whether the derivation paths of known keys (BIP-32) are added.' }),
      true,
    ),
    optional(flagParam('finalize', { note: 'Whether inputs with all signatures are finalized.' }), true),
  ],
  result: PROCESSED_PSBT,
  examples: [
    example([EXAMPLE.psbt, [`wpkh(${EXAMPLE.privateKey})`]]),
    example([EXAMPLE.psbt, [{ desc: `wpkh(${EXAMPLE.extendedPrivateKey}/84h/1h/0h/0/*)`, range: [0, 100] }]]),
  ],
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

/** Looks up spent transactions and coins. Each input needs the whole previous transaction, so their size is bounded. */
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

/** Returns a function that throws if the caller has left. */
function stillWanted({ expectWork }: ReadEnv): () => void {
  return () => expectWork(0);
}

export const psbtMethods: readonly RpcMethod[] = [
  createpsbt,
  converttopsbt,
  decodepsbt,
  combinepsbt,
  joinpsbts,
  finalizepsbt,
  analyzepsbt,
  utxoupdatepsbt,
  descriptorprocesspsbt,
];
