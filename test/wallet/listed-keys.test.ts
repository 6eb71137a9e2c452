import { expect, test } from 'bun:test';
import { sha256 } from '../../src/crypto/hash-functions.ts';
import { publicKeyOf } from '../../src/crypto/keys.ts';
import type { Txid } from '../../src/primitives/hash.ts';
import { multisig, p2pkh, p2wshOf } from '../../src/script/templates.ts';
import { runSteps } from '../../src/util/slices.ts';
import type { KeyOrigin } from '../../src/wallet/keys/key-path.ts';
import { createPsbt, type Psbt } from '../../src/wallet/psbt/psbt.ts';
import { fillPsbtSteps } from '../../src/wallet/spend/fill-psbt.ts';
import { signingData } from '../../src/wallet/spend/spendable.ts';
import { WalletFixture } from './wallet-fixture.ts';

/** A spend of what takes the signature of one of two keys. */
function psbtOf(publicKey: Uint8Array, origin: KeyOrigin): Psbt {
  const stranger = publicKeyOf(sha256(Uint8Array.of(1)));
  const witnessScript = multisig(1, [stranger, publicKey]);
  const prevout = { txid: new Uint8Array(32).fill(3) as Txid, vout: 1 };
  const inputs = [{ prevout, scriptSig: new Uint8Array(0), sequence: 0, witness: [] }];
  const outputs = [{ value: 900n, scriptPubKey: p2pkh(new Uint8Array(20)) }];
  const psbt = createPsbt({ version: 2, inputs, outputs, locktime: 0 }, 2);
  const [input] = psbt.inputs;
  const witnessUtxo = { value: 1000n, scriptPubKey: p2wshOf(witnessScript) };
  const derivations = new Map([[publicKey.toHex(), { publicKey, origin }]]);
  return { ...psbt, inputs: [{ ...input!, witnessUtxo, witnessScript, derivations }] };
}

test('an input of a foreign script is signed with a listed key that the wallet has derived', () => {
  using it = new WalletFixture();
  const script = it.script('bech32m');
  it.script('bech32m');
  const last = it.script('bech32m');
  const keysOf = (of: Uint8Array) => {
    const data = signingData(it.wallet, [of], true);
    const [key] = data.privateKeys.values();
    return { key: key!.publicKey, origin: data.keyOrigin(key!.id)! };
  };
  const signs = (publicKey: Uint8Array, origin: KeyOrigin, sign = true) =>
    runSteps(fillPsbtSteps(it.wallet, psbtOf(publicKey, origin), { sign, derivations: true })).complete;

  for (const { key, origin } of [keysOf(script), keysOf(last)]) {
    expect(signs(key, origin)).toBe(true);
    expect(signs(key, origin, false)).toBe(false);
    // The PSBT may contain only the end of the key's path.
    expect(signs(key, { fingerprint: new Uint8Array(4), path: origin.path.slice(-1) })).toBe(true);
  }
  // Raw keys of a multisig have the path m, which says nothing of the key's index in the wallet.
  const { key, origin } = keysOf(last);
  expect(signs(key, { ...origin, path: [] })).toBe(true);
  for (const index of [0, 1, 1000, 0x7fff_ffff])
    expect(signs(key, { ...origin, path: [...origin.path.slice(0, -1), index] })).toBe(true);
  expect(signs(publicKeyOf(sha256(Uint8Array.of(2))), origin)).toBe(false);
});

test('an input is signed with a listed key whose index is reserved and not derived yet', () => {
  using it = new WalletFixture({}, 40);
  const { scripts, vault } = it.wallet;
  const owned = scripts.activeDescriptor('bech32m', false)!;
  const [index, beyond] = [39, 40].map((at) => {
    const { data } = owned.descriptor.expand(at, vault.provider())!;
    const [id, publicKey] = [...data.publicKeys][0]!;
    return { publicKey, origin: data.keyOrigin(Uint8Array.fromHex(id))! };
  });
  expect(owned.record.filled).toBeLessThan(39);
  const signs = ({ publicKey, origin }: { publicKey: Uint8Array; origin: KeyOrigin }) =>
    runSteps(fillPsbtSteps(it.wallet, psbtOf(publicKey, origin), { sign: true, derivations: true })).complete;
  expect(signs(index!)).toBe(true);
  // The wallet does not search for coins of this one.
  expect(signs(beyond!)).toBe(false);
});
