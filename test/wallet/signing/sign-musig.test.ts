import { describe, expect, test } from 'bun:test';
import { inspect } from 'node:util';
import * as fc from 'fast-check';
import { newMusigNonce } from '../../../src/crypto/musig-nonce.ts';
import { regtest } from '../../../src/params/regtest.ts';
import type { Txid } from '../../../src/primitives/hash.ts';
import { parseDescriptor } from '../../../src/wallet/descriptor/parse-descriptor.ts';
import { ExtendedPrivateKey, formatExtendedPublicKey } from '../../../src/wallet/keys/extended-key.ts';
import { MusigNonces } from '../../../src/wallet/keys/musig-nonces.ts';
import { SigningData, type SigningProvider } from '../../../src/wallet/keys/signing-data.ts';
import { combinePsbts } from '../../../src/wallet/psbt/combine.ts';
import { createPsbt, type Psbt, type PsbtInput } from '../../../src/wallet/psbt/psbt.ts';
import { finalizePsbt, isSignedAndVerified, psbtContext } from '../../../src/wallet/psbt/sign-psbt.ts';
import { processPsbt } from '../../../src/wallet/psbt/update.ts';
import type { MusigContribution } from '../../../src/wallet/signing/musig-data.ts';
import { signTransaction } from '../../../src/wallet/signing/sign-transaction.ts';
import { keyOf } from './signing-fixture.ts';

const NOTHING = { transaction: () => null, coin: () => null };
const NOBODY = '50929b74c1a04954b78b4b6035e97a5e078a5a0f28ec96d547bfee9ace803ac0';
const INDEX = 3;

/** The same in every run. */
const roots = ['a', 'b', 'c', 'd'].map((name) => ExtendedPrivateKey.fromSeed(keyOf(`musig ${name}`).reveal()));

type Signer = SigningData & { musigNonces: MusigNonces };

/** `$0` to `$3` are the signers' keys. */
function partiesOf(descriptor: string, count: number): { signers: Signer[]; scriptPubKey: Uint8Array } {
  const text = (own: number) =>
    descriptor.replace(/\$(\d)/g, (_, i) =>
      Number(i) === own
        ? roots[own]!.revealText(regtest.bip32)
        : formatExtendedPublicKey(roots[Number(i)]!.neuter(), regtest.bip32),
    );
  const all = Array.from({ length: count }, (_, own) => {
    const parsed = parseDescriptor(text(own), regtest);
    if (!parsed.ok) throw new Error(parsed.error);
    const [first] = parsed.descriptors;
    const { data, scripts } = first!.expand(INDEX, parsed.keys)!;
    for (const key of first!.expandPrivate(INDEX, parsed.keys)) data.addPrivateKey(key);
    return { signer: Object.assign(data, { musigNonces: new MusigNonces() }), script: scripts[0]! };
  });
  return { signers: all.map(({ signer }) => signer), scriptPubKey: all[0]!.script };
}

function psbtSpending(scriptPubKey: Uint8Array): Psbt {
  const prevout = { txid: new Uint8Array(32).fill(7) as Txid, vout: 0 };
  const inputs = [{ prevout, scriptSig: new Uint8Array(0), sequence: 0xffff_fffd, witness: [] }];
  const psbt = createPsbt({ version: 2, inputs, outputs: [{ value: 900n, scriptPubKey }], locktime: 5 }, 2);
  return withInput(psbt, { witnessUtxo: { value: 1000n, scriptPubKey } });
}

function withInput(psbt: Psbt, changes: Partial<PsbtInput>): Psbt {
  return { ...psbt, inputs: [{ ...psbt.inputs[0]!, ...changes }] };
}

function signedBy(psbt: Psbt, provider: SigningProvider): Psbt {
  const outcome = processPsbt(psbt, NOTHING, provider, {});
  if (!outcome.ok) throw new Error(outcome.error);
  return outcome.value;
}

/** One round of all, each on its own. */
function round(psbt: Psbt, signers: readonly Signer[]): Psbt {
  return combinePsbts(signers.map((signer) => signedBy(psbt, signer)))!;
}

const isSpent = (psbt: Psbt) => isSignedAndVerified(psbtContext(psbt)!, psbt.inputs[0]!, 0);

/** The value of one contribution changed. */
function changed(
  shares: ReadonlyMap<string, MusigContribution>,
  pick: number,
  change: (value: Uint8Array) => Uint8Array,
): ReadonlyMap<string, MusigContribution> {
  const at = pick % shares.size;
  return new Map(
    [...shares].map(([id, share], i) => [id, i === at ? { ...share, value: change(share.value.slice()) } : share]),
  );
}

const KEYS: readonly (readonly [string, string])[] = [
  ['no steps', 'musig($0,$1)'],
  ['steps of the participants', 'musig($0/1/*,$1/2/*)'],
  ['steps of the aggregate', 'musig($0,$1)/4/5/*'],
  ['a step of the aggregate', 'musig($1,$0)/*'],
  ['three participants', 'musig($0,$1,$2)/*'],
  ['four participants', 'musig($3/*,$1/*,$2/*,$0/*)'],
  ['one participant', 'musig($0/8/*)'],
];
const OUTPUTS: readonly ((key: string) => string)[] = [
  (key) => `tr(${key})`,
  (key) => `rawtr(${key})`,
  (key) => `tr(${key},pk(${NOBODY}))`,
  (key) => `tr(${NOBODY},pk(${key}))`,
  (key) => `tr(${NOBODY},{pk(${NOBODY}),and_v(v:pkh(${key}),after(1))})`,
  (key) => `tr(${NOBODY},multi_a(2,${key},$0/9/*))`,
];

describe('participants of a MuSig2 key', () => {
  for (const [n, [name, key]] of KEYS.entries())
    test(`participants spend an output with ${name}`, () => {
      const count = 1 + Math.max(...[...key.matchAll(/\$(\d)/g)].map(([, i]) => Number(i)));
      // Half of them, as each takes some hundredths of a second.
      for (const output of OUTPUTS.filter((_, i) => i % 2 === n % 2)) {
        const { signers, scriptPubKey } = partiesOf(output(key), count);
        const nonces = round(psbtSpending(scriptPubKey), signers);
        expect(nonces.inputs[0]!.musigNonces.size).toBe(count);
        expect(isSpent(finalizePsbt(nonces).psbt)).toBe(false);
        const done = finalizePsbt(round(nonces, signers));
        expect(done.complete).toBe(true);
        expect(isSpent(done.psbt)).toBe(true);
        expect(signers.map(({ musigNonces }) => musigNonces.size)).toEqual(signers.map(() => 0));
      }
    });

  test('participants sign one PSBT in any order', () => {
    const { signers, scriptPubKey } = partiesOf('tr(musig($0/*,$1/*,$2/*))', 3);
    const order = fc.shuffledSubarray([0, 1, 2], { minLength: 3, maxLength: 3 });
    fc.assert(
      fc.property(order, order, (first, second) => {
        let psbt = psbtSpending(scriptPubKey);
        for (const i of first) psbt = signedBy(psbt, signers[i]!);
        for (const i of second) {
          expect(isSpent(psbt)).toBe(false);
          psbt = signedBy(psbt, signers[i]!);
        }
        // The last one has all that it takes.
        expect(isSpent(psbt)).toBe(true);
      }),
      { numRuns: 4 },
    );
  });
});

describe('contributions of other participants', () => {
  const descriptor = 'tr(musig($0,$1)/1/*)';
  const begin = () => {
    const { signers, scriptPubKey } = partiesOf(descriptor, 2);
    const psbt = psbtSpending(scriptPubKey);
    return { signers, psbt, nonces: round(psbt, signers) };
  };
  const sharesOf = (psbt: Psbt) => psbt.inputs[0]!.musigPartialSignatures;

  test('no participant signs twice with a nonce', () => {
    const { signers, nonces } = begin();
    const [alice, bob] = signers;
    const mine = [...nonces.inputs[0]!.musigNonces.keys()].findIndex((id) =>
      id.endsWith([...alice!.privateKeys.values()].at(-1)!.publicKey.toHex()),
    );
    expect(sharesOf(signedBy(nonces, alice!)).size).toBe(1);
    // The same again, and with other nonces of the other one.
    expect(sharesOf(signedBy(nonces, alice!)).size).toBe(0);
    const other = round(psbtSpending(partiesOf(descriptor, 2).scriptPubKey), [bob!]);
    const theirs = [...other.inputs[0]!.musigNonces.values()][0]!;
    const mixed = changed(nonces.inputs[0]!.musigNonces, 1 - mine, () => theirs.value);
    expect(sharesOf(signedBy(withInput(nonces, { musigNonces: mixed }), alice!)).size).toBe(0);
  });

  test('no participant signs another transaction with a nonce', () => {
    const { signers, nonces } = begin();
    const [output] = nonces.outputs;
    const other = { ...nonces, outputs: [{ ...output!, value: 1n }] };
    expect(sharesOf(signedBy(other, signers[0]!)).size).toBe(0);
    expect(sharesOf(signedBy(nonces, signers[0]!)).size).toBe(1);
  });

  test('an invalid nonce is not used, and ours is kept for a valid one', () => {
    const { signers, nonces } = begin();
    const bad = nonces.inputs[0]!.musigNonces;
    for (const pick of [0, 1]) {
      const musigNonces = changed(bad, pick, (value) => value.fill(5));
      for (const signer of signers) expect(sharesOf(signedBy(withInput(nonces, { musigNonces }), signer)).size).toBe(0);
    }
    expect(isSpent(finalizePsbt(round(nonces, signers)).psbt)).toBe(true);
  });

  test('an invalid partial signature gives no signature rather than an invalid one', () => {
    fc.assert(
      fc.property(fc.nat(1), fc.nat(255), (pick, bit) => {
        const { signers, nonces } = begin();
        const signed = round(nonces, signers);
        const musigPartialSignatures = changed(sharesOf(signed), pick, (value) => {
          value[bit >> 3]! ^= 1 << (bit & 7);
          return value;
        });
        const { psbt, complete } = finalizePsbt(withInput(signed, { musigPartialSignatures }));
        expect(complete).toBe(false);
        expect(psbt.inputs[0]!.tapKeySignature).toBeNull();
        expect(psbt.inputs[0]!.finalScriptWitness).toBeNull();
      }),
      { numRuns: 4 },
    );
  });

  test('nothing is signed for wrong participants or wrong derivation steps', () => {
    const { signers, psbt } = begin();
    const known = signedBy(psbt, new SigningData().merge(withoutKeys(signers[0]!)));
    const keysOnly = new SigningData();
    for (const key of signers[0]!.privateKeys.values()) keysOnly.addPrivateKey(key);
    keysOnly.musigNonces = new MusigNonces();
    const given = (changes: Partial<PsbtInput>) =>
      signedBy(withInput(known, changes), keysOnly).inputs[0]!.musigNonces.size;
    expect(given({})).toBe(1);

    const { musigParticipants, tapDerivations } = known.inputs[0]!;
    const twice = [...musigParticipants].map(
      ([id, each]) => [id, { ...each, participants: [...each.participants, each.participants[0]!] }] as const,
    );
    expect(given({ musigParticipants: new Map(twice) })).toBe(0);
    expect(given({ musigParticipants: new Map(twice.map(([id, each]) => [id, { ...each, participants: [] }])) })).toBe(
      0,
    );
    for (const path of [[], [1], [1, INDEX, 0], [0, INDEX], [0x8000_0001, INDEX], new Array(300).fill(1)]) {
      const lying = [...tapDerivations].map(
        ([id, each]) => [id, { ...each, origin: { ...each.origin, path } }] as const,
      );
      expect(given({ tapDerivations: new Map(lying) })).toBe(0);
    }
    expect(keysOnly.musigNonces.size).toBe(1);
  });

  function withoutKeys(data: SigningData): SigningData {
    const open = new SigningData();
    for (const publicKey of data.publicKeys.values()) open.addPublicKey(publicKey);
    for (const { publicKey, origin } of data.origins.values()) open.addOrigin(publicKey, origin);
    for (const taproot of data.taproots.values()) open.addTaproot(taproot);
    for (const [key, participants] of data.aggregates) open.aggregates.set(key, participants);
    return open;
  }
});

test('no nonce is created without a store for nonces', () => {
  const { signers, scriptPubKey } = partiesOf('tr(musig($0,$1))', 2);
  const bare = Object.assign(signers[0]!, { musigNonces: null });
  const { musigNonces, musigParticipants } = signedBy(psbtSpending(scriptPubKey), bare).inputs[0]!;
  expect(musigNonces.size).toBe(0);
  expect(musigParticipants.size).toBe(1);
  const psbt = psbtSpending(scriptPubKey);
  const { tx, errors } = signTransaction(psbtContext(psbt)!.context.tx, [psbt.inputs[0]!.witnessUtxo], bare);
  expect(tx.inputs[0]!.witness).toEqual([]);
  expect(errors.size).toBe(1);
});

describe('stored nonces', () => {
  const nonce = () =>
    newMusigNonce({
      secret: null,
      publicKey: keyOf('a').publicKey,
      aggregateKey: null,
      message: null,
      extra: null,
    }).secretNonce;
  const isWiped = (secret: ReturnType<typeof nonce>) => {
    try {
      return secret.use(keyOf('a').publicKey, () => false);
    } catch {
      return true;
    }
  };

  test('a nonce is returned once, and wiped if it is not', () => {
    const nonces = new MusigNonces(2);
    const all = ['first', 'second', 'third'].map((session) => {
      const secret = nonce();
      nonces.add(session, secret);
      return secret;
    });
    expect(nonces.size).toBe(2);
    expect(nonces.has('first')).toBe(false);
    expect(isWiped(all[0]!)).toBe(true);
    expect(nonces.consume('second')).toBe(all[1]!);
    expect(nonces.consume('second')).toBeNull();
    expect(isWiped(all[1]!)).toBe(false);
    const again = nonce();
    nonces.add('third', again);
    expect(isWiped(all[2]!)).toBe(true);
    nonces.clear();
    expect(nonces.size).toBe(0);
    expect(isWiped(again)).toBe(true);
  });

  test('nonces are not shown', () => {
    const nonces = new MusigNonces();
    nonces.add('session', nonce());
    expect(inspect(nonces, { showHidden: true, depth: 9 })).toBe('[1 secret nonces]');
    expect(JSON.stringify(nonces)).toBe('{}');
  });
});
