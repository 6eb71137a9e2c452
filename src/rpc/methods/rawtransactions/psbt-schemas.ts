import { arr, bool, coinAmount, hexStr, int, mapOf, maybe, obj, str } from '../../engine/schema.ts';
import { bareTx } from '../schemas.ts';

/** Result of decodepsbt. */
export const DECODED_PSBT = obj({
  tx: maybe(bareTx),
  global_xpubs: arr(obj({ xpub: str(), master_fingerprint: hexStr(), path: str() })),
  tx_version: maybe(int()),
  fallback_locktime: maybe(int()),
  input_count: maybe(int()),
  output_count: maybe(int()),
  inputs_modifiable: maybe(bool()),
  outputs_modifiable: maybe(bool()),
  has_sighash_single: maybe(bool()),
  psbt_version: maybe(int()),
  proprietary: arr(obj({ identifier: hexStr(), subtype: int(), key: hexStr(), value: hexStr() })),
  unknown: mapOf('key', hexStr()),
  inputs: arr(
    obj({
      non_witness_utxo: maybe(bareTx),
      witness_utxo: maybe(
        obj({
          amount: coinAmount(),
          scriptPubKey: obj({ asm: str(), desc: str(), hex: hexStr(), type: str(), address: maybe(str()) }),
        }),
      ),
      partial_signatures: maybe(mapOf('key', str())),
      sighash: maybe(str()),
      redeem_script: maybe(obj({ asm: str(), hex: hexStr(), type: str() })),
      witness_script: maybe(obj({ asm: str(), hex: hexStr(), type: str() })),
      bip32_derivs: maybe(arr(obj({ pubkey: str(), master_fingerprint: str(), path: str() }))),
      final_scriptSig: maybe(obj({ asm: str(), hex: hexStr() })),
      final_scriptwitness: maybe(arr(hexStr())),
      ripemd160_preimages: maybe(mapOf('key', str())),
      sha256_preimages: maybe(mapOf('key', str())),
      hash160_preimages: maybe(mapOf('key', str())),
      hash256_preimages: maybe(mapOf('key', str())),
      previous_txid: maybe(hexStr()),
      previous_vout: maybe(int()),
      sequence: maybe(int()),
      time_locktime: maybe(int()),
      height_locktime: maybe(int()),
      taproot_key_path_sig: maybe(hexStr()),
      taproot_script_path_sigs: maybe(arr(obj({ pubkey: str(), leaf_hash: str(), sig: str() }))),
      taproot_scripts: maybe(arr(obj({ script: hexStr(), leaf_ver: int(), control_blocks: arr(hexStr()) }))),
      taproot_bip32_derivs: maybe(
        arr(obj({ pubkey: str(), master_fingerprint: str(), path: str(), leaf_hashes: arr(hexStr()) })),
      ),
      taproot_internal_key: maybe(hexStr()),
      taproot_merkle_root: maybe(hexStr()),
      musig2_participant_pubkeys: maybe(arr(obj({ aggregate_pubkey: hexStr(), participant_pubkeys: arr(hexStr()) }))),
      musig2_pubnonces: maybe(
        arr(
          obj({
            participant_pubkey: hexStr(),
            aggregate_pubkey: hexStr(),
            leaf_hash: maybe(hexStr()),
            pubnonce: hexStr(),
          }),
        ),
      ),
      musig2_partial_sigs: maybe(
        arr(
          obj({
            participant_pubkey: hexStr(),
            aggregate_pubkey: hexStr(),
            leaf_hash: maybe(hexStr()),
            partial_sig: hexStr(),
          }),
        ),
      ),
      unknown: maybe(mapOf('key', hexStr())),
      proprietary: maybe(arr(obj({ identifier: hexStr(), subtype: int(), key: hexStr(), value: hexStr() }))),
    }),
  ),
  outputs: arr(
    obj({
      redeem_script: maybe(obj({ asm: str(), hex: hexStr(), type: str() })),
      witness_script: maybe(obj({ asm: str(), hex: hexStr(), type: str() })),
      bip32_derivs: maybe(arr(obj({ pubkey: str(), master_fingerprint: str(), path: str() }))),
      amount: maybe(coinAmount()),
      script: maybe(obj({ asm: str(), desc: str(), hex: hexStr(), address: maybe(str()), type: str() })),
      taproot_internal_key: maybe(hexStr()),
      taproot_tree: maybe(arr(obj({ depth: int(), leaf_ver: int(), script: str() }))),
      taproot_bip32_derivs: maybe(
        arr(obj({ pubkey: str(), master_fingerprint: str(), path: str(), leaf_hashes: arr(hexStr()) })),
      ),
      musig2_participant_pubkeys: maybe(arr(obj({ aggregate_pubkey: hexStr(), participant_pubkeys: arr(hexStr()) }))),
      unknown: maybe(mapOf('key', hexStr())),
      proprietary: maybe(arr(obj({ identifier: hexStr(), subtype: int(), key: hexStr(), value: hexStr() }))),
    }),
  ),
  fee: maybe(coinAmount()),
});

/** Result of analyzepsbt. */
export const ANALYSED_PSBT = obj({
  inputs: maybe(
    arr(
      obj({
        has_utxo: bool('whether the PSBT holds the spent output'),
        is_final: bool(),
        missing: maybe(
          obj({
            pubkeys: maybe(arr(hexStr(), 'hashes of public keys')),
            signatures: maybe(arr(hexStr(), 'hashes of public keys whose signatures are missing')),
            redeemscript: maybe(hexStr('hash of the redeem script')),
            witnessscript: maybe(hexStr('hash of the witness script')),
          }),
        ),
        next: maybe(str('role that has to process the input: updater, signer, finalizer or extractor')),
      }),
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
      obj({ txid: hexStr(), vout: int(), witness: arr(hexStr()), scriptSig: hexStr(), sequence: int(), error: str() }),
    ),
  ),
});
