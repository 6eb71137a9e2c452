import { describe, expect, test } from 'bun:test';
import { hash160, sha256 } from '../../../src/crypto/hash-functions.ts';
import { hashToHex, type Txid } from '../../../src/primitives/hash.ts';
import type { Transaction, TxOutput } from '../../../src/primitives/transaction.ts';
import { DecodedTxContext } from '../../../src/script/decoded-tx-context.ts';
import { p2wpkh } from '../../../src/script/templates.ts';
import {
  type BumpRequest,
  type BumpStanding,
  bumpOutcome,
  checkBumpable,
  draftBump,
} from '../../../src/wallet/coin-selection/fee-bump.ts';
import { inputWeight, maxSignedInputWeight } from '../../../src/wallet/coin-selection/signed-input-weight.ts';
import { signTransaction } from '../../../src/wallet/signing/sign-transaction.ts';
import { solvingAll, spendingTx, templates, withKeys } from '../signing/signing-fixture.ts';
import { COIN, feeFor, P2WPKH_SIZE } from './coin-fixture.ts';

const txid = (tag: number) => sha256(Uint8Array.of(tag)) as Txid;
const script = (tag: number) => p2wpkh(hash160(Uint8Array.of(tag, 99)));
const [PAYEE, CHANGE] = [script(1), script(2)];

const standing: BumpStanding = {
  txid: txid(1),
  spentInWallet: false,
  hasMempoolDescendants: false,
  depth: 0,
  replacedBy: null,
  allInputsMine: true,
};

const outputs: TxOutput[] = [
  { value: COIN / 2n, scriptPubKey: PAYEE },
  { value: COIN / 2n - 1000n, scriptPubKey: CHANGE },
];
const original: Transaction = {
  version: 2,
  inputs: [{ prevout: { txid: txid(2), vout: 7 }, scriptSig: new Uint8Array(0), sequence: 0xffff_fffd, witness: [] }],
  outputs,
  locktime: 0,
};
/** Virtual bytes of a signed transaction with one P2WPKH input and two such outputs. */
const VSIZE = 141;

function request(more: Partial<BumpRequest> = {}): BumpRequest {
  return {
    original,
    originalVsize: VSIZE,
    standing,
    spentOutputs: [{ value: COIN, scriptPubKey: script(3) }],
    inputSizes: [{ weight: null, size: P2WPKH_SIZE }],
    requireMine: true,
    outputs: [],
    changeIndex: null,
    isChange: ({ scriptPubKey }) => scriptPubKey === CHANGE,
    feerates: { user: null, estimate: 0n, fallback: 0n, mempoolMin: 1000n, walletMin: 1000n, relayMin: 100n },
    incrementalRelay: 100n,
    maxFee: COIN / 10n,
    combinedBumpFee: () => 0n,
    ...more,
  };
}

const asked = (user: bigint, more: Partial<BumpRequest> = {}) =>
  draftBump(request({ feerates: { ...request().feerates, user }, ...more }));

describe('a transaction cannot be bumped', () => {
  test('a transaction with descendants, confirmed or bumped already cannot be bumped', () => {
    const message = (more: Partial<BumpStanding>) => checkBumpable({ ...standing, ...more }, true);
    expect(checkBumpable(standing, true)).toBeNull();
    expect(message({ spentInWallet: true })).toEqual({
      kind: 'invalid-parameter',
      message: 'Transaction has descendants in the wallet',
    });
    expect(message({ hasMempoolDescendants: true })).toEqual({
      kind: 'invalid-parameter',
      message: 'Transaction has descendants in the mempool',
    });
    for (const depth of [1, -1])
      expect(message({ depth })).toEqual({
        kind: 'wallet',
        message: 'Transaction has been mined, or is conflicted with a mined transaction',
      });
    expect(message({ replacedBy: txid(9) })).toEqual({
      kind: 'wallet',
      message: `Cannot bump transaction ${hashToHex(txid(1))} which was already bumped by transaction ${hashToHex(txid(9))}`,
    });
    expect(message({ allInputsMine: false })).toEqual({
      kind: 'wallet',
      message: "Transaction contains inputs that don't belong to this wallet",
    });
    expect(checkBumpable({ ...standing, allInputsMine: false }, false)).toBeNull();
  });

  test('incompatible options are rejected', () => {
    expect(draftBump(request({ outputs, changeIndex: 1 }))).toEqual({
      ok: false,
      kind: 'invalid-parameter',
      message:
        "The options 'outputs' and 'original_change_index' are incompatible. You can only either specify a new set of outputs, or designate a change output to be recycled.",
    });
    expect(draftBump(request({ changeIndex: 2 }))).toMatchObject({ message: 'Change position is out of range' });
    expect(draftBump(request({ spentOutputs: [null] }))).toEqual({
      ok: false,
      kind: 'misc',
      message: `${hashToHex(txid(2))}:7 is already spent`,
    });
  });
});

describe('a replacement', () => {
  test('a replacement pays the same recipients and the same change script', () => {
    expect(draftBump(request())).toEqual({
      ok: true,
      value: {
        oldFee: 1000n,
        // 1000 for 141 vB, rounded down; one more; and the wallet's step.
        feerate: 7092n + 1n + 5000n,
        recipients: [{ ...outputs[0]!, subtractFee: false }],
        changeScript: CHANGE,
      },
    });
  });

  test('a replacement steps by the incremental feerate of the node, and pays the minimum', () => {
    expect(draftBump(request({ incrementalRelay: 6000n }))).toMatchObject({ value: { feerate: 7092n + 1n + 6000n } });
    const feerates = { ...request().feerates, estimate: 50_000n };
    expect(draftBump(request({ feerates }))).toMatchObject({ value: { feerate: 50_000n } });
  });

  test('a replacement of a transaction with change alone pays to it, less the fee', () => {
    const value = COIN - 1000n;
    expect(draftBump(request({ isChange: () => true }))).toMatchObject({
      value: { recipients: [{ scriptPubKey: CHANGE, value, subtractFee: true }], changeScript: null },
    });
  });

  test('a replacement takes the fee from the named output', () => {
    expect(draftBump(request({ changeIndex: 0 }))).toMatchObject({
      value: { recipients: [{ ...outputs[1]!, subtractFee: false }], changeScript: PAYEE },
    });
  });

  test('a replacement pays other outputs where they are given', () => {
    const [other] = [{ value: 5000n, scriptPubKey: script(8) }];
    expect(draftBump(request({ outputs: [other!] }))).toMatchObject({
      value: { recipients: [{ ...other!, subtractFee: false }], changeScript: null },
    });
  });
});

describe('a feerate that is asked for', () => {
  const least = 1000n + feeFor(100n, VSIZE);

  test('a requested feerate must pay for the original and for its relay', () => {
    // 7,198 sat/kvB make 1,015 satoshis, which is just enough.
    expect(least).toBe(1015n);
    expect(asked(7198n)).toMatchObject({ ok: true, value: { feerate: 7198n } });
    expect(asked(7191n)).toEqual({
      ok: false,
      kind: 'invalid-parameter',
      message:
        'Insufficient total fee 0.00001014, must be at least 0.00001015 (oldFee 0.00001 + incrementalFee 0.00000015)',
    });
  });

  test('a requested feerate must suffice for the mempool and the wallet, and not exceed the maximum', () => {
    expect(asked(999n)).toEqual({
      ok: false,
      kind: 'wallet',
      message: 'New fee rate (0.00000999) is lower than the minimum fee rate (0.00001) to get into the mempool -- ',
    });
    expect(asked(100_000n, { maxFee: 5000n })).toEqual({
      ok: false,
      kind: 'wallet',
      message: 'Specified or calculated fee 0.000141 is too high (cannot be higher than -maxtxfee 0.00005)',
    });
    const feerates = { ...request().feerates, user: 8000n, walletMin: 9000n };
    expect(draftBump(request({ feerates }))).toMatchObject({
      message: 'Insufficient total fee (cannot be less than required fee 0.00001269)',
    });
  });
});

test('an error of building becomes an error of the bump', () => {
  expect(bumpOutcome({ ok: false, error: 'Insufficient funds' })).toEqual({
    ok: false,
    kind: 'wallet',
    message: 'Unable to create transaction. Insufficient funds',
  });
});

test("the size of another signer's input assumes the longest signatures", () => {
  const list = templates();
  const { tx, spent } = spendingTx(list);
  const keys = list.flatMap(({ signers }) => signers);
  const context = new DecodedTxContext(signTransaction(tx, spent, withKeys(solvingAll(list), keys)).tx, spent);
  const growth = list.map(({ name }, i) => ({
    name,
    bytes: maxSignedInputWeight(context, i) - inputWeight(context.tx.inputs[i]!),
  }));
  const of = (wanted: string) => growth.find(({ name }) => name === wanted)!.bytes;
  // Ground signatures are 71 bytes or a little less, and count four times outside of witnesses.
  expect(of('p2wpkh')).toBeGreaterThanOrEqual(1);
  expect(of('p2pkh') % 4).toBe(0);
  expect(of('p2pkh')).toBeGreaterThanOrEqual(4);
  expect(of('p2wsh multisig')).toBeGreaterThanOrEqual(2);
  expect(of('p2tr key')).toBe(0);
});
