import { afterAll, beforeAll, describe, expect, test } from 'bun:test';
import { hashToHex } from '../../src/primitives/hash.ts';
import type { Transaction } from '../../src/primitives/transaction.ts';
import { Op } from '../../src/script/opcodes.ts';
import { pushData, scriptOf } from '../../src/script/script-builder.ts';
import { p2shOf, p2wshOf } from '../../src/script/templates.ts';
import { concatBytes } from '../../src/util/bytes.ts';
import { chainWithCoins } from '../lib/chain-builder.ts';
import { TestNode } from '../lib/chain-fixture.ts';
import { differences, ModelChain } from '../lib/chain-state.ts';
import {
  coinOf,
  LOCK_KINDS,
  type LockKind,
  spend,
  sweep,
  withBadSignature,
  withInput,
  withOutput,
  withoutWitness,
} from '../lib/tx-builder.ts';

const FALSE = 'Script evaluated without error but finished with a false/empty top stack element';
const SCHNORR = 'Invalid Schnorr signature';
const SIGNED = LOCK_KINDS.filter((kind) => !kind.includes('anyone'));

// One transaction creates a coin of each kind; block 103 spends them.
const chain = chainWithCoins(3, 'anyone');
const funding = spend(
  chain.coin(1),
  LOCK_KINDS.map((to) => ({ to, value: 1_0000_0000n })),
);
chain.mine(1, { txs: [funding] });

const coin = (kind: LockKind) => coinOf(funding, LOCK_KINDS.indexOf(kind));
const good = (kind: LockKind) => sweep(coin(kind), 'anyone');
const reasonOf = (text: string) => `block-script-verify-flag-failed (${text})`;

/** Changes the first push of the scriptSig, a signature, and what follows. */
const firstPush = (tx: Transaction, change: (push: Uint8Array) => Uint8Array): Transaction => {
  const { scriptSig } = tx.inputs[0]!;
  const at = 1 + scriptSig[0]!;
  return withInput(tx, 0, {
    scriptSig: concatBytes(pushData(change(scriptSig.slice(1, at))), scriptSig.subarray(at)),
  });
};
const witnessOf = (tx: Transaction) => tx.inputs[0]!.witness;
const CASES: [title: string, text: string, tx: () => Transaction][] = [
  ...SIGNED.map((kind): [string, string, () => Transaction] => [
    `wrong signature: ${kind}`,
    kind.startsWith('p2tr') ? SCHNORR : FALSE,
    () => withBadSignature(good(kind)),
  ]),
  ...SIGNED.map((kind): [string, string, () => Transaction] => [
    `amount changed after signing: ${kind}`,
    kind.startsWith('p2tr') ? SCHNORR : FALSE,
    () => withOutput(good(kind), 0, { value: 9999_8999n }),
  ]),
  [
    'another key',
    'Script failed an OP_EQUALVERIFY operation',
    () => withInput(good('p2pkh'), 0, { scriptSig: good('p2pkh-uncompressed').inputs[0]!.scriptSig }),
  ],
  [
    'a signature that is not DER',
    'Non-canonical DER signature',
    () => firstPush(good('p2pkh'), (signature) => signature.with(0, 0x31)),
  ],
  [
    'a signature with bytes between',
    'Non-canonical DER signature',
    () => firstPush(good('p2pk'), (signature) => Uint8Array.from([...signature.slice(0, -1), 0, 1])),
  ],
  // BIP-66 is a consensus rule; low S and defined hash types are not.
  [
    'multisig with a dummy of one',
    'Dummy CHECKMULTISIG argument must be zero',
    () => withInput(good('multisig'), 0, { scriptSig: good('multisig').inputs[0]!.scriptSig.with(0, Op.OP_1) }),
  ],
  ['key hash without witness', 'Witness program hash mismatch', () => withoutWitness(good('p2wpkh'))],
  [
    'script hash without witness',
    'Witness program was passed an empty witness',
    () => withoutWitness(good('p2wsh-multisig')),
  ],
  ['taproot without witness', 'Witness program was passed an empty witness', () => withoutWitness(good('p2tr'))],
  [
    'witness script of another hash',
    'Witness program hash mismatch',
    () => withInput(good('p2wsh-anyone'), 0, { witness: [Uint8Array.of(Op.OP_2)] }),
  ],
  [
    'more than one left of a witness script',
    'Stack size must be exactly one after execution',
    () => withInput(good('p2wsh-anyone'), 0, { witness: [Uint8Array.of(1), Uint8Array.of(Op.OP_1)] }),
  ],
  [
    'a witness that no output needs',
    'Witness provided for non-witness script',
    () => withInput(good('anyone'), 0, { witness: [Uint8Array.of(1)] }),
  ],
  [
    'a scriptSig beside a witness',
    'Witness requires empty scriptSig',
    () => withInput(good('p2wpkh'), 0, { scriptSig: Uint8Array.of(Op.OP_1) }),
  ],
  [
    'a scriptSig of two pushes beside a witness',
    'Witness requires only-redeemscript scriptSig',
    () =>
      withInput(good('p2sh-p2wpkh'), 0, {
        scriptSig: concatBytes(Uint8Array.of(Op.OP_1), good('p2sh-p2wpkh').inputs[0]!.scriptSig),
      }),
  ],
  [
    'a scriptSig that computes, for P2SH',
    'Only push operators allowed in signatures',
    () =>
      withInput(good('p2sh-multisig'), 0, {
        scriptSig: concatBytes(Uint8Array.of(Op.OP_NOP), good('p2sh-multisig').inputs[0]!.scriptSig),
      }),
  ],
  [
    'OP_RETURN',
    'OP_RETURN was encountered',
    () => withInput(good('anyone'), 0, { scriptSig: Uint8Array.of(Op.OP_RETURN) }),
  ],
  [
    'a Schnorr signature of 63 bytes',
    'Invalid Schnorr signature size',
    () => withInput(good('p2tr'), 0, { witness: [witnessOf(good('p2tr'))[0]!.slice(0, 63)] }),
  ],
  [
    'a Schnorr signature that names the default',
    'Invalid Schnorr signature hash type',
    () => withInput(good('p2tr'), 0, { witness: [Uint8Array.from([...witnessOf(good('p2tr'))[0]!, 0])] }),
  ],
  [
    'a control block that is too short',
    'Invalid Taproot control block size',
    () => withInput(good('p2tr-script'), 0, { witness: witnessOf(good('p2tr-script')).with(2, new Uint8Array(32)) }),
  ],
  [
    'a control block of another key',
    'Witness program hash mismatch',
    () => {
      const witness = witnessOf(good('p2tr-script'));
      return withInput(good('p2tr-script'), 0, { witness: witness.with(2, witness[2]!.with(0, witness[2]![0]! ^ 1)) });
    },
  ],
];

describe('failing scripts', () => {
  let base: TestNode;

  beforeAll(async () => {
    base = new TestNode();
    await base.take(chain.blocks.slice(1));
  });
  afterAll(() => base?.[Symbol.asyncDispose]());

  for (const [title, text, tx] of CASES)
    test(title, async () => {
      expect(await base.submit(chain.build({ txs: [tx()] }))).toBe(reasonOf(text));
      expect(base.tip).toBe(hashToHex(chain.tip.hash));
    });

  test('are reported for the first failing input of the block', async () => {
    const coins = SIGNED.map(coin);
    const signed = spend(coins, [{ to: 'anyone', value: 1n }]);
    const at = SIGNED.indexOf('p2tr');
    const bad = withBadSignature(withBadSignature(signed, at), at + 1);
    const outcome = await base.chain.submitBlock(chain.build({ txs: [sweep(chain.coin(2), 'anyone'), bad] }).raw);
    expect(outcome).toMatchObject({ status: 'rejected', rejection: { kind: 'consensus', reason: reasonOf(SCHNORR) } });
    expect(outcome.status === 'rejected' && outcome.rejection.debug).toStartWith(`input ${at} of `);
  });

  test('leave no state behind, and all kinds together are valid without a fault', async () => {
    const block = chain.build({ txs: LOCK_KINDS.map(good) });
    await using node = new TestNode();
    await node.take(chain.blocks.slice(1));
    expect(await node.submit(chain.build({ txs: [...SIGNED.map(good), withBadSignature(good('p2tr'))] }))).not.toBe(
      'accepted',
    );
    expect(await node.submit(block)).toBe('accepted');
    expect(differences(node.state(), new ModelChain([...chain.blocks.slice(1), block]).state())).toEqual([]);
  });
});

describe('signature operations of a block', () => {
  // Each counts 20 without a number of keys before it, and costs only its count unexecuted.
  const sigops = (count: number) =>
    scriptOf(Op.OP_0, Op.OP_IF, ...Array<number>(count).fill(Op.OP_CHECKMULTISIG), Op.OP_ENDIF, Op.OP_1);
  const full = sigops(195);
  const rest = sigops(25);
  const one = scriptOf(Op.OP_0, Op.OP_IF, Op.OP_CHECKSIG, Op.OP_ENDIF, Op.OP_1);
  const own = chainWithCoins(2, 'anyone');
  const outputs = [...Array<Uint8Array>(5).fill(full), rest].map(p2shOf);
  const made = spend(
    own.coin(1),
    [...outputs, p2wshOf(one)].map((to) => ({ to, value: 1000n })),
  );
  own.mine(1, { txs: [made] });
  const spent = (count: number): Transaction => {
    const coins = Array.from({ length: count }, (_, vout) => coinOf(made, vout));
    const unsigned = spend(coins, [{ to: 'anyone', value: 1n }], { sign: false });
    const inputs = unsigned.inputs.map((input, i) => {
      if (i === 6) return { ...input, witness: [one] };
      return { ...input, scriptSig: pushData(i < 5 ? full : rest) };
    });
    return { ...unsigned, inputs };
  };

  test('may cost 80,000, one more is bad-blk-sigops', async () => {
    await using node = new TestNode();
    await node.take(own.blocks.slice(1));
    // 5 * 195 * 20 * 4 and 25 * 20 * 4 in redeem scripts, and 1 in a witness.
    expect(await node.submit(own.build({ txs: [spent(7)] }))).toBe('bad-blk-sigops');
    // A signature operation in an output costs four.
    const withCheck = own.build({ txs: [spent(6)], to: scriptOf(new Uint8Array(33).fill(2), Op.OP_CHECKSIG) });
    expect(await node.submit(withCheck)).toBe('bad-blk-sigops');
    expect(await node.submit(own.build({ txs: [spent(6)] }))).toBe('accepted');
  });
});
