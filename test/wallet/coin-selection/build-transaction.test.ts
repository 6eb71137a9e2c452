import { describe, expect, test } from 'bun:test';
import fc from 'fast-check';
import { hash160 } from '../../../src/crypto/hash-functions.ts';
import { outpointKey } from '../../../src/primitives/outpoint.ts';
import { sumOutputs } from '../../../src/primitives/transaction.ts';
import { p2wpkh } from '../../../src/script/templates.ts';
import { runSteps } from '../../../src/util/slices.ts';
import { antiSnipingLocktime, isCurrentTip } from '../../../src/wallet/coin-selection/anti-fee-sniping.ts';
import {
  type BuildRequest,
  buildTransactionSteps,
  type TransactionPlan,
} from '../../../src/wallet/coin-selection/build-transaction.ts';
import { chooseFeerate, discardFeerate, minimumFeerate } from '../../../src/wallet/coin-selection/feerates.ts';
import { maxTxWeight } from '../../../src/wallet/coin-selection/input-size.ts';
import type { PresetInput } from '../../../src/wallet/coin-selection/preset-inputs.ts';
import { COIN, feeFor, P2WPKH_SIZE, repeat, seededRandom, walletCoin } from './coin-fixture.ts';

const script = (tag: number) => p2wpkh(hash160(Uint8Array.of(tag, 77)));
const CHANGE = script(200);

function request(more: Partial<BuildRequest> = {}): BuildRequest {
  return {
    recipients: [{ scriptPubKey: script(1), value: COIN, subtractFee: false }],
    presetInputs: [],
    coins: repeat(6, (i) => walletCoin((3n * COIN) / 10n + BigInt(i) * 1_234_567n)),
    allowOtherInputs: true,
    fee: { ok: true, value: { feerate: 5000n, reason: 'user' } },
    longTermFeerate: 10_000n,
    discardFeerate: 10_000n,
    dustFeerate: 3000n,
    change: { ok: true, value: { scriptPubKey: CHANGE, spendVsize: 68 } },
    changePosition: null,
    txVersion: 2,
    locktime: null,
    tip: { height: 1000, isCurrent: true },
    signalRbf: true,
    maxTxWeight: null,
    maxFee: COIN / 10n,
    avoidPartialSpends: false,
    maxPartialSpendsFee: 0n,
    includeUnsafe: false,
    spendZeroConfChange: true,
    rejectLongChains: true,
    limits: { ancestors: 25, descendants: 25 },
    random: seededRandom(1),
    combinedBumpFee: () => 0n,
    ...more,
  };
}

function planOf(more: Partial<BuildRequest> = {}): TransactionPlan {
  const outcome = runSteps(buildTransactionSteps(request(more)));
  if (!outcome.ok) throw new Error(outcome.error);
  return outcome.value;
}

function errorOf(more: Partial<BuildRequest>): string {
  const outcome = runSteps(buildTransactionSteps(request(more)));
  return outcome.ok ? 'none' : outcome.error;
}

const presetOf = (value: bigint, more: Partial<PresetInput> = {}): PresetInput => {
  const { outpoint, output } = walletCoin(value);
  return {
    outpoint,
    output,
    weight: null,
    size: P2WPKH_SIZE,
    sequence: null,
    solution: null,
    position: null,
    unconfirmedVersion: null,
    bumpFee: 0n,
    ...more,
  };
};

/** Fee of the plan, satoshis. */
function paidFee({ coins, tx }: TransactionPlan): bigint {
  return coins.reduce((sum, { output }) => sum + output.value, 0n) - sumOutputs(tx);
}

describe('a transaction plan', () => {
  test('a plan pays its recipients, and a fee for its maximum size', () => {
    const recipients = fc.array(fc.bigInt(1000n, COIN), { minLength: 1, maxLength: 5 });
    const coins = fc.array(fc.bigInt(1000n, 3n * COIN), { minLength: 1, maxLength: 30 });
    const feerate = fc.constantFrom(100n, 1000n, 5000n, 40_000n);
    fc.assert(
      fc.property(recipients, coins, feerate, fc.boolean(), fc.nat(), (values, coinValues, rate, subtractFee, seed) => {
        const outcome = runSteps(
          buildTransactionSteps(
            request({
              recipients: values.map((value, i) => ({ scriptPubKey: script(i), value, subtractFee })),
              coins: coinValues.map((value) => walletCoin(value)),
              fee: { ok: true, value: { feerate: rate, reason: 'user' } },
              random: seededRandom(seed),
            }),
          ),
        );
        if (!outcome.ok) return outcome.error !== '';
        const { tx, fee, changePosition, maxWeight } = outcome.value;
        expect(paidFee(outcome.value)).toBe(fee);
        const needed = feeFor(rate, Math.ceil(maxWeight / 4));
        if (changePosition === null && !subtractFee) expect(fee).toBeGreaterThanOrEqual(needed);
        else expect(fee).toBe(needed);
        const paid = tx.outputs.filter((_, i) => i !== changePosition);
        const requested = values.reduce((a, b) => a + b, 0n);
        // Too little for change is part of the fee, so that recipients who pay the fee pay less.
        const excess = changePosition === null ? paidFee(outcome.value) + sumOutputs(tx) - requested : 0n;
        const share = subtractFee ? fee - excess : 0n;
        expect(paid.reduce((sum, { value }) => sum + value, 0n)).toBe(requested - share);
        if (changePosition !== null) expect(tx.outputs[changePosition]!.value).toBeGreaterThan(680n);
        expect(new Set(tx.inputs.map(({ prevout }) => outpointKey(prevout))).size).toBe(tx.inputs.length);
        return true;
      }),
      { numRuns: 200, examples: [[[1000n], [1001n], 100n, true, 0]] },
    );
  });

  test('a plan has its change at the requested position', () => {
    for (const changePosition of [0, 1]) {
      const plan = planOf({ changePosition });
      expect(plan.changePosition).toBe(changePosition);
      expect(plan.tx.outputs[changePosition]!.scriptPubKey).toEqual(CHANGE);
    }
    expect(errorOf({ changePosition: 2 })).toBe('Transaction change output index out of range');
  });

  test('a plan drops change that is dust', () => {
    // The coin pays recipient and fee, and 100 satoshis more.
    const fee = feeFor(5000n, 10 + 1 + 31) + feeFor(5000n, 68);
    const plan = planOf({ coins: [walletCoin(COIN + fee + 100n)] });
    expect(plan.changePosition).toBeNull();
    expect(plan.tx.outputs.length).toBe(1);
    expect(plan.selection.algorithm).toBe('bnb');
  });

  test('a plan signals replaceability on request', () => {
    expect(planOf().tx.inputs.every(({ sequence }) => sequence === 0xffff_fffd)).toBe(true);
    expect(planOf({ signalRbf: false }).tx.inputs.every(({ sequence }) => sequence === 0xffff_fffe)).toBe(true);
  });

  test('a plan subtracts the fee in equal parts, and the remainder from the first', () => {
    const to = (tag: number, subtractFee: boolean) => ({ scriptPubKey: script(tag), value: COIN / 10n, subtractFee });
    const { tx, fee, changePosition } = planOf({ recipients: [to(1, true), to(2, false), to(3, true)] });
    const [first, second, third] = tx.outputs.filter((_, i) => i !== changePosition);
    expect(first!.value).toBe(COIN / 10n - fee / 2n - (fee % 2n));
    expect(second!.value).toBe(COIN / 10n);
    expect(third!.value).toBe(COIN / 10n - fee / 2n);
  });
});

describe('preset inputs', () => {
  test('preset inputs are all used in their order, with other coins where they do not suffice', () => {
    const presetInputs = [presetOf(5000n, { position: 1 }), presetOf(6000n, { position: 0 })];
    const { tx } = planOf({ presetInputs });
    expect(tx.inputs[0]!.prevout).toEqual(presetInputs[1]!.outpoint);
    expect(tx.inputs[1]!.prevout).toEqual(presetInputs[0]!.outpoint);
    expect(tx.inputs.length).toBeGreaterThan(2);
  });

  test('preset inputs keep their sequence, and the locktime stays', () => {
    const plan = planOf({ presetInputs: [presetOf(2n * COIN, { sequence: 5 })] });
    expect(plan.tx.inputs.map(({ sequence }) => sequence)).toEqual([5]);
    expect(plan.tx.locktime).toBe(0);
    expect(plan.selection.algorithm).toBe('manual');
  });

  test('preset inputs that cannot be spent are refused', () => {
    const inputs = (more: Partial<PresetInput>, build: Partial<BuildRequest> = {}) =>
      errorOf({ presetInputs: [presetOf(2n * COIN, more)], ...build });
    expect(inputs({ output: null })).toBe('Unable to find UTXO for external input');
    expect(inputs({ size: null })).toMatch(/^Not solvable pre-selected input COutPoint\([0-9a-f]{10}, 0\)$/);
    expect(inputs({ unconfirmedVersion: 3 })).toBe(
      "Can't spend unconfirmed version 3 pre-selected input with a version 2 tx",
    );
    expect(inputs({ unconfirmedVersion: 2 }, { txVersion: 3 })).toBe(
      "Can't spend unconfirmed version 2 pre-selected input with a version 3 tx",
    );
    expect(errorOf({ presetInputs: [presetOf(1000n)], allowOtherInputs: false })).toBe(
      'The preselected coins total amount does not cover the transaction target. Please allow other inputs to be automatically selected or include more coins manually',
    );
  });

  test('preset inputs with a given weight cost that weight', () => {
    const light = planOf({ presetInputs: [presetOf(2n * COIN)] }).fee;
    const heavy = planOf({ presetInputs: [presetOf(2n * COIN, { weight: 272 + 4000 })] }).fee;
    expect(heavy - light).toBe(5000n);
  });

  test('preset inputs of unknown size have a witness where they spend a witness program', () => {
    const known = maxTxWeight([{ weight: 300, size: P2WPKH_SIZE }], []);
    const output = { scriptPubKey: script(1) };
    expect(maxTxWeight([{ weight: 300, size: null, output }], [])).toBe(known);
    expect(maxTxWeight([{ weight: 300, size: null, output: { scriptPubKey: Uint8Array.of(0x51) } }], [])).toBe(
      known! - 2,
    );
  });
});

describe('errors', () => {
  const to = (value: bigint, subtractFee = false) => [{ scriptPubKey: script(1), value, subtractFee }];

  test('invalid requests are rejected', () => {
    expect(errorOf({ recipients: [] })).toBe('Transaction must have at least one recipient');
    expect(errorOf({ recipients: to(-1n) })).toBe('Transaction amounts must not be negative');
    expect(errorOf({ recipients: to(293n) })).toBe('Transaction amount too small');
    expect(errorOf({ maxTxWeight: 259 })).toBe('Maximum transaction weight must be between 260 and 400000');
    expect(errorOf({ maxTxWeight: 400_001 })).toBe('Maximum transaction weight must be between 260 and 400000');
    expect(errorOf({ fee: { ok: false, error: 'no feerate' } })).toBe('no feerate');
    const nothing = { scriptPubKey: Uint8Array.of(0x6a), value: 0n, subtractFee: false };
    expect(errorOf({ recipients: [nothing], fee: { ok: true, value: { feerate: 0n, reason: 'user' } } })).toBe(
      'Transaction requires one destination of non-zero value, a non-zero feerate, or a pre-selected input',
    );
  });

  test('too little money is reported', () => {
    expect(errorOf({ recipients: to(4n * COIN) })).toBe('Insufficient funds');
    expect(errorOf({ coins: [walletCoin(COIN)] })).toBe(
      'The total exceeds your balance when the 0.0000021 transaction fee is included.',
    );
    const max = { coins: [walletCoin(2n * COIN)], recipients: to(2n * COIN, true) };
    expect(planOf(max).tx.outputs.length).toBe(1);
  });

  test('fees that leave too little, or are too high, are reported', () => {
    const poor = { coins: [walletCoin(1000n)], recipients: to(1000n, true) };
    const at = (feerate: bigint) => ({ ok: true, value: { feerate, reason: 'user' } }) as const;
    expect(errorOf({ ...poor, fee: at(8000n) })).toBe(
      'The transaction amount is too small to send after the fee has been deducted',
    );
    expect(errorOf({ ...poor, fee: at(80_000n) })).toBe('The transaction amount is too small to pay the fee');
    expect(errorOf({ maxFee: 100n })).toBe('Fee exceeds maximum configured by user (e.g. -maxtxfee, maxfeerate)');
  });

  test('change without an address is reported', () => {
    const change = { ok: false, error: 'no change' } as const;
    expect(errorOf({ change })).toBe('no change');
    expect(planOf({ change, coins: [walletCoin(COIN)], recipients: to(COIN, true) }).changePosition).toBeNull();
  });

  test('too much weight is reported', () => {
    expect(errorOf({ maxTxWeight: 600, coins: repeat(20, () => walletCoin(COIN / 10n)) })).toBe(
      "The inputs size exceeds the maximum weight. Please try sending a smaller amount or manually consolidating your wallet's UTXOs",
    );
  });
});

describe('choice of coins', () => {
  const to = (value: bigint) => [{ scriptPubKey: script(1), value, subtractFee: false }];

  test('confirmed coins come first, own unconfirmed change where needed, and coins from others never', () => {
    const confirmed = walletCoin(2n * COIN);
    const change = walletCoin(2n * COIN, { depth: 0, fromMe: true, ancestors: 1, clusterCount: 1 });
    const foreign = walletCoin(2n * COIN, { depth: 0, ancestors: 1, clusterCount: 1 });
    const spent = (coins: (typeof confirmed)[], more: Partial<BuildRequest> = {}) =>
      planOf({ coins, ...more }).coins.map(({ outpoint }) => outpoint);
    expect(spent([foreign, change, confirmed])).toEqual([confirmed.outpoint]);
    expect(spent([foreign, change])).toEqual([change.outpoint]);
    expect(errorOf({ coins: [foreign] })).toBe('Insufficient funds');
    expect(spent([foreign], { includeUnsafe: true })).toEqual([foreign.outpoint]);
    expect(errorOf({ coins: [change], spendZeroConfChange: false })).toBe('Insufficient funds');
  });

  test('coins at the end of a long chain are spent only where that is allowed', () => {
    const chained = walletCoin(2n * COIN, { depth: 0, fromMe: true, ancestors: 25, clusterCount: 25 });
    expect(errorOf({ coins: [chained] })).toBe(
      'Unconfirmed UTXOs are available, but spending them creates a chain of transactions that will be rejected by the mempool',
    );
    expect(planOf({ coins: [chained], rejectLongChains: false }).coins.length).toBe(1);
  });

  test('coins of one type are preferred', () => {
    const coins = [
      ...repeat(3, () => walletCoin(COIN, { type: 'legacy' })),
      ...repeat(3, () => walletCoin(COIN, { type: 'bech32m' })),
    ];
    for (let seed = 0; seed < 10; seed++) {
      const types = (value: bigint) => {
        const { coins: chosen } = planOf({ coins, recipients: to(value), random: seededRandom(seed) });
        const keys = new Set(chosen.map(({ outpoint }) => outpointKey(outpoint)));
        return new Set(coins.filter(({ outpoint }) => keys.has(outpointKey(outpoint))).map(({ type }) => type)).size;
      };
      expect(types(2n * COIN)).toBe(1);
      expect(types(4n * COIN)).toBe(2);
    }
  });

  test('all coins of a script are spent together where partial spends are avoided', () => {
    const same = script(9);
    const coins = repeat(5, () => walletCoin(COIN, { output: { value: COIN, scriptPubKey: same } }));
    const grouped = { recipients: to(COIN / 2n), coins };
    expect(planOf({ ...grouped, avoidPartialSpends: true }).tx.inputs.length).toBe(5);
    // Tried besides, and taken where it costs no more than allowed.
    expect(planOf({ ...grouped, maxPartialSpendsFee: COIN }).tx.inputs.length).toBe(5);
    expect(planOf({ ...grouped, maxPartialSpendsFee: -1n }).tx.inputs.length).toBeLessThan(5);
  });

  test('a script with more than a hundred coins is not spent as a whole', () => {
    const same = script(9);
    const coins = repeat(150, () => walletCoin(COIN, { output: { value: COIN, scriptPubKey: same } }));
    const { tx } = planOf({ recipients: to(COIN), coins, avoidPartialSpends: true });
    expect(tx.inputs.length).toBe(100);
  });

  test('bump fees of unconfirmed coins are paid, shared ancestors once', () => {
    const coins = repeat(2, () =>
      walletCoin(COIN, { depth: 0, fromMe: true, ancestors: 1, clusterCount: 1, bumpFee: 700n }),
    );
    const pay = { coins, recipients: to((3n * COIN) / 2n) };
    const shared = planOf({ ...pay, combinedBumpFee: () => 700n });
    const separate = planOf({ ...pay, combinedBumpFee: () => 1400n });
    expect(separate.fee - shared.fee).toBe(700n);
    expect(errorOf({ ...pay, combinedBumpFee: () => null })).toStartWith('Failed to calculate bump fees');
  });
});

test('the locktime is the tip, now and then a little less, and none while the tip is old', () => {
  const tip = { height: 1000, isCurrent: true };
  expect(antiSnipingLocktime(tip, () => 1)).toBe(1000);
  expect(antiSnipingLocktime(tip, (limit) => (limit === 10 ? 0 : 42))).toBe(958);
  expect(antiSnipingLocktime({ height: 10, isCurrent: true }, (limit) => (limit === 10 ? 0 : 42))).toBe(0);
  expect(antiSnipingLocktime({ ...tip, isCurrent: false }, () => 1)).toBe(0);
  expect(isCurrentTip(100_000, 100_000 + 8 * 3600, false)).toBe(true);
  expect(isCurrentTip(100_000, 100_001 + 8 * 3600, false)).toBe(false);
  expect(isCurrentTip(100_000, 100_000, true)).toBe(false);
});

describe('feerates', () => {
  const sources = { user: null, estimate: 0n, fallback: 0n, mempoolMin: 1000n, walletMin: 1000n, relayMin: 100n };

  test('the feerate of the user is used if it is not below the limits', () => {
    expect(minimumFeerate({ ...sources, user: 2000n })).toEqual({ feerate: 2000n, reason: 'user' });
    expect(minimumFeerate({ ...sources, user: 999n })).toEqual({ feerate: 1000n, reason: 'required' });
    expect(minimumFeerate({ ...sources, user: 1n, overrideLimits: true })).toEqual({ feerate: 1n, reason: 'user' });
    expect(chooseFeerate({ ...sources, user: 999n })).toEqual({
      ok: false,
      error:
        'Fee rate (0.999 sat/vB) is lower than the minimum fee rate setting (1.000 sat/vB).\nConsider modifying -mintxfee (1.000 sat/vB) or -minrelaytxfee (0.100 sat/vB).',
    });
  });

  test('the feerate is an estimate, else the fallback, else an error', () => {
    expect(minimumFeerate({ ...sources, estimate: 5000n })).toEqual({ feerate: 5000n, reason: 'estimate' });
    expect(minimumFeerate({ ...sources, estimate: 5n })).toEqual({ feerate: 1000n, reason: 'mempool-min' });
    expect(minimumFeerate({ ...sources, fallback: 2000n })).toEqual({ feerate: 2000n, reason: 'fallback' });
    expect(chooseFeerate(sources)).toEqual({
      ok: false,
      error: 'Fee estimation failed. Fallbackfee is disabled. Wait a few blocks or enable -fallbackfee.',
    });
  });

  test('the discard feerate is the estimate, within the setting and the dust feerate', () => {
    expect(discardFeerate(0n, 10_000n, 3000n)).toBe(10_000n);
    expect(discardFeerate(5000n, 10_000n, 3000n)).toBe(5000n);
    expect(discardFeerate(20_000n, 10_000n, 3000n)).toBe(10_000n);
    expect(discardFeerate(1000n, 10_000n, 3000n)).toBe(3000n);
  });
});
