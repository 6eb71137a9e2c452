import { arr, bool, coinAmount, hexStr, int, mapOf, maybe, noted, obj, str } from '../../engine/schema.ts';
import { bareTx, outputScript } from '../schemas.ts';

const PREIMAGES = (hash: string) => maybe(mapOf('hash', str('preimage'), `${hash} preimages of the script`));
const FINGERPRINT = 'first four bytes of the hash of the master key (BIP-32)';
const LEAF_VERSION = 'version of the leaf (BIP-342)';
const SCRIPT_HEX = 'bytes of the script';
const ASM = 'script in words';
const SCRIPT_TYPE = 'kind of the script';

/** Fields that the PSBT, each input and each output may hold. */
const UNKNOWN = mapOf('key', hexStr('value'), 'fields of unknown types');
const PROPRIETARY = arr(
  obj({
    identifier: hexStr('prefix of the application'),
    subtype: int('type within the application'),
    key: hexStr('rest of the key'),
    value: hexStr('value of the field'),
  }),
  'fields of applications',
);

const script = (note: string) => maybe(obj({ asm: str(ASM), hex: hexStr(SCRIPT_HEX), type: str(SCRIPT_TYPE) }, note));

const derivation = {
  pubkey: str('public key'),
  master_fingerprint: str(FINGERPRINT),
  path: str('derivation path from the master key'),
};

/** Fields that inputs and outputs share. */
const COMMON = {
  redeem_script: script('redeem script (BIP-16)'),
  witness_script: script('witness script (BIP-141)'),
  bip32_derivs: maybe(arr(obj(derivation), 'public keys with their derivations')),
  taproot_internal_key: maybe(hexStr('internal key without its sign')),
  taproot_bip32_derivs: maybe(
    arr(
      obj({ ...derivation, leaf_hashes: arr(hexStr(), 'leaves that use the key') }),
      'keys without their sign, with their derivations',
    ),
  ),
  musig2_participant_pubkeys: maybe(
    arr(
      obj({
        aggregate_pubkey: hexStr('aggregate key'),
        participant_pubkeys: arr(hexStr(), 'keys of the participants, in order'),
      }),
      'participants of aggregate keys (BIP-373)',
    ),
  ),
  unknown: maybe(UNKNOWN),
  proprietary: maybe(PROPRIETARY),
};

const musigSigner = {
  participant_pubkey: hexStr('key of the participant'),
  aggregate_pubkey: hexStr('aggregate key, with its tweaks'),
  leaf_hash: maybe(hexStr('the leaf; absent for a key path spend')),
};

const INPUT = obj({
  non_witness_utxo: maybe(noted(bareTx, 'the transaction whose output is spent')),
  witness_utxo: maybe(
    obj(
      {
        amount: coinAmount('value of the output'),
        scriptPubKey: noted(outputScript, 'output script'),
      },
      'the spent output, if it is a witness output',
    ),
  ),
  ...COMMON,
  partial_signatures: maybe(mapOf('public key', str('signature'), 'signatures made so far')),
  sighash: maybe(str('signature hash type that has to be used')),
  final_scriptSig: maybe(obj({ asm: str(ASM), hex: hexStr(SCRIPT_HEX) }, 'complete scriptSig')),
  final_scriptwitness: maybe(arr(hexStr(), 'complete witness')),
  ripemd160_preimages: PREIMAGES('RIPEMD-160'),
  sha256_preimages: PREIMAGES('SHA-256'),
  hash160_preimages: PREIMAGES('HASH160'),
  hash256_preimages: PREIMAGES('HASH256'),
  previous_txid: maybe(hexStr('transaction of the spent output (version 2)')),
  previous_vout: maybe(int('index of the spent output (version 2)')),
  sequence: maybe(int('sequence number (version 2)')),
  time_locktime: maybe(int('earliest locktime as Unix seconds (version 2)')),
  height_locktime: maybe(int('earliest locktime as height (version 2)')),
  taproot_key_path_sig: maybe(hexStr('Schnorr signature of the key path')),
  taproot_script_path_sigs: maybe(
    arr(
      obj({
        pubkey: str('public key without its sign'),
        leaf_hash: str('hash of the leaf'),
        sig: str('Schnorr signature'),
      }),
      'signatures of script paths',
    ),
  ),
  taproot_scripts: maybe(
    arr(
      obj({
        script: hexStr('script of the leaf'),
        leaf_ver: int(LEAF_VERSION),
        control_blocks: arr(hexStr(), 'control blocks that reveal the leaf'),
      }),
      'leaves that may be spent',
    ),
  ),
  taproot_merkle_root: maybe(hexStr('root of the tree of scripts')),
  musig2_pubnonces: maybe(arr(obj({ ...musigSigner, pubnonce: hexStr('public nonce') }), 'public nonces (BIP-373)')),
  musig2_partial_sigs: maybe(
    arr(obj({ ...musigSigner, partial_sig: hexStr('partial signature') }), 'partial signatures (BIP-373)'),
  ),
});

const OUTPUT = obj({
  ...COMMON,
  amount: maybe(coinAmount('value of the output (version 2)')),
  script: maybe(noted(outputScript, 'output script (version 2)')),
  taproot_tree: maybe(
    arr(
      obj({
        depth: int('depth of the leaf, 0 for the root'),
        leaf_ver: int(LEAF_VERSION),
        script: str('script of the leaf'),
      }),
      'leaves of the tree of scripts, depth first',
    ),
  ),
});

/** Result of decodepsbt. */
export const DECODED_PSBT = obj({
  tx: maybe(noted(bareTx, 'the unsigned transaction (version 0)')),
  global_xpubs: arr(
    obj({
      xpub: str('extended public key'),
      master_fingerprint: hexStr(FINGERPRINT),
      path: str('derivation path from the master key'),
    }),
    'extended public keys of the signers',
  ),
  tx_version: maybe(int('version of the transaction (version 2)')),
  fallback_locktime: maybe(int('locktime if no input requires one (version 2)')),
  input_count: maybe(int('number of inputs (version 2)')),
  output_count: maybe(int('number of outputs (version 2)')),
  inputs_modifiable: maybe(bool('whether inputs may be added or removed (version 2)')),
  outputs_modifiable: maybe(bool('whether outputs may be added or removed (version 2)')),
  has_sighash_single: maybe(bool('whether a signature binds an input to its output (version 2)')),
  psbt_version: maybe(int('version of the PSBT: 0 (BIP-174) or 2 (BIP-370)')),
  proprietary: PROPRIETARY,
  unknown: UNKNOWN,
  inputs: arr(INPUT, 'fields of each input'),
  outputs: arr(OUTPUT, 'fields of each output'),
  fee: maybe(coinAmount('fee, if all spent outputs are known')),
});

/** Result of analyzepsbt. */
export const ANALYSED_PSBT = obj({
  inputs: maybe(
    arr(
      obj({
        has_utxo: bool('whether the PSBT holds the spent output'),
        is_final: bool('whether the input is complete'),
        missing: maybe(
          obj(
            {
              pubkeys: maybe(arr(hexStr(), 'hashes of public keys')),
              signatures: maybe(arr(hexStr(), 'hashes of public keys whose signatures are missing')),
              redeemscript: maybe(hexStr('hash of the redeem script')),
              witnessscript: maybe(hexStr('hash of the witness script')),
            },
            'data that the next role needs',
          ),
        ),
        next: maybe(str('role that has to process the input: updater, signer, finalizer or extractor')),
      }),
      'state of each input',
    ),
  ),
  estimated_vsize: maybe(int('virtual bytes of the signed transaction')),
  estimated_feerate: maybe(coinAmount('per 1,000 virtual bytes')),
  fee: maybe(coinAmount('if all spent outputs are known')),
  next: str('role that has to process the PSBT: creator, updater, signer, finalizer or extractor'),
  error: maybe(str('reason for which the PSBT is invalid')),
});

/** Result of descriptorprocesspsbt and walletprocesspsbt. */
export const PROCESSED_PSBT = obj({
  psbt: str('in Base64'),
  complete: bool('whether every input has all its signatures'),
  hex: maybe(hexStr('the transaction, if it is complete and finalized')),
});

/** Result of finalizepsbt. */
export const FINAL_PSBT = obj({
  psbt: maybe(str('in Base64; if no transaction is returned')),
  hex: maybe(hexStr('the transaction, if it is complete and extract is true')),
  complete: bool('whether every input has all its signatures'),
});

/** Result of the methods that sign a transaction. */
export const SIGNED = obj({
  hex: hexStr('the transaction with all signatures that could be made'),
  complete: bool('whether every input has all its signatures'),
  errors: maybe(
    arr(
      obj({
        txid: hexStr('transaction of the spent output'),
        vout: int('index of the spent output'),
        witness: arr(hexStr(), 'witness items'),
        scriptSig: hexStr('script of the input'),
        sequence: int('sequence number'),
        error: str('reason for which the input is not signed'),
      }),
      'inputs that lack a signature',
    ),
  ),
});
