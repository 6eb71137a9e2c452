import { afterEach, describe, expect, spyOn, test } from 'bun:test';
import { walletCalls } from '../../src/node/calls/wallet-calls.ts';
import type { Txid } from '../../src/primitives/hash.ts';
import type { Outpoint } from '../../src/primitives/outpoint.ts';
import { type Transaction, transactionBytes, transactionFromBytes } from '../../src/primitives/transaction.ts';
import { encodePsbtBase64 } from '../../src/wallet/psbt/encode.ts';
import { createPsbt } from '../../src/wallet/psbt/psbt.ts';
import { ORDINARY_SPEND } from '../../src/wallet/spend/spend-request.ts';
import type { WalletManager } from '../../src/wallet/wallet-manager.ts';
import { parsed, WalletFixture } from './wallet-fixture.ts';

const never = new AbortController().signal;
const NAME = 'w';
const FOREIGN = Uint8Array.of(0, 20, ...new Uint8Array(20));
const FEE = { feerate: 1000n, overrideLimits: false, target: null, mode: 'unset' as const };
const NOTES = { comment: null, commentTo: null, requestId: null };

/** Each reading of the clock is a millisecond later, so that a slice of 8 ms has 8 steps. */
function stepsTakeAMillisecond(): void {
  let now = 0;
  spyOn(performance, 'now').mockImplementation(() => now++);
}

afterEach(() => {
  spyOn(performance, 'now').mockRestore();
});

/** A wallet with coins, and the calls of the RPC interface. */
class Fixture extends WalletFixture {
  readonly sent: Transaction[] = [];
  readonly coins: Outpoint[];
  readonly act;

  constructor(count: number) {
    super({}, 20);
    this.deps.mempool.broadcast = async (raw) => {
      this.sent.push(transactionFromBytes(raw));
      return { status: 'accepted' } as never;
    };
    const script = this.script();
    const txid = new Uint8Array(32).fill(7) as Txid;
    const paid = parsed({
      version: 2,
      locktime: 0,
      inputs: [{ prevout: { txid, vout: 0 }, scriptSig: new Uint8Array(0), sequence: 0, witness: [] }],
      outputs: Array.from({ length: count }, () => ({ value: 100_000n, scriptPubKey: script })),
    });
    for (const txs of [[paid], [], [], [], [], [], []]) this.connect(...txs);
    this.coins = Array.from({ length: count }, (_, vout) => ({ txid: paid.txid, vout }));
    const manager = { wallet: () => this.wallet } as unknown as WalletManager;
    this.act = walletCalls(manager, this.deps.signer);
  }

  connect(...txs: ReturnType<typeof parsed>[]): void {
    const { chain } = this;
    const entry = chain.make(chain.tip, txs);
    chain.tip = entry;
    this.wallet.sync.onChainMoved({
      disconnected: [],
      connected: [entry],
      bodies: [chain.bodies.get(entry)!],
      tip: entry,
    });
  }

  send(value: bigint, requestId: string | null = null) {
    const recipients = [{ scriptPubKey: FOREIGN, value, subtractFee: false }];
    const request = { ...ORDINARY_SPEND, recipients, fee: FEE };
    return this.act.walletSendMoney(NAME, request, { ...NOTES, requestId }, never);
  }

  unsigned(inputs: readonly Outpoint[]): Transaction {
    return {
      version: 2,
      locktime: 0,
      inputs: inputs.map((prevout) => ({ prevout, scriptSig: new Uint8Array(0), sequence: 0, witness: [] })),
      outputs: [{ value: 1000n, scriptPubKey: FOREIGN }],
    };
  }
}

/** Turns of the thread until a work is done. */
async function turnsOf(work: Promise<unknown>): Promise<number> {
  let [turns, done] = [0, false];
  work.finally(() => (done = true)).catch(() => {});
  for (; !done; turns++) await new Promise(setImmediate);
  return turns;
}

describe('calls with many inputs', () => {
  test('signing a transaction signs at most eight inputs per slice', async () => {
    using it = new Fixture(80);
    stepsTakeAMillisecond();
    const raw = transactionBytes(it.unsigned(it.coins));
    const signing = it.act.walletSignTransaction(
      NAME,
      raw,
      it.coins.map(() => null),
      [],
      1,
      never,
    );
    expect(await turnsOf(signing as Promise<unknown>)).toBeGreaterThanOrEqual((3 * 80) / 8 - 1);
    expect(await signing).toMatchObject({ errors: [] });
  });

  test('processing a PSBT signs at most eight inputs per slice', async () => {
    using it = new Fixture(80);
    stepsTakeAMillisecond();
    const psbt = encodePsbtBase64(createPsbt(it.unsigned(it.coins), 2));
    const processing = it.act.walletProcessPsbt(NAME, psbt, { sign: true, derivations: true }, never);
    expect(await turnsOf(processing as Promise<unknown>)).toBeGreaterThanOrEqual((4 * 80) / 8 - 1);
    expect(await processing).toMatchObject({ complete: true });
  });

  test('a send processes eight coins in each slice', async () => {
    using it = new Fixture(80);
    stepsTakeAMillisecond();
    const sending = it.send(4_000_000n);
    expect(await turnsOf(sending as Promise<unknown>)).toBeGreaterThanOrEqual(80 / 8);
    expect(it.sent).toHaveLength(1);
  });

  test('a call ends when the client leaves, and when the wallet is locked', async () => {
    using it = new Fixture(80);
    await it.wallet.encrypt(new TextEncoder().encode('a passphrase'));
    await it.wallet.unlock(new TextEncoder().encode('a passphrase'), 60);
    stepsTakeAMillisecond();
    const psbt = encodePsbtBase64(createPsbt(it.unsigned(it.coins), 2));
    const options = { sign: true, derivations: true };
    const leaving = new AbortController();
    const left = it.act.walletProcessPsbt(NAME, psbt, options, leaving.signal) as Promise<unknown>;
    const locked = it.act.walletProcessPsbt(NAME, psbt, options, never) as Promise<unknown>;
    left.catch(() => {});
    for (let i = 0; i < 10; i++) await new Promise(setImmediate);
    leaving.abort(new Error('the client has disconnected'));
    it.wallet.lock();
    expect(await left.catch(({ message }) => message)).toBe('the client has disconnected');
    expect(await locked).toEqual({
      refused: 'unlockNeeded',
      message: 'Error: Please enter the wallet passphrase with walletpassphrase first.',
    });
  });
});

describe('abandontransaction', () => {
  /** A tree of inactive transactions, each with two children, of which one has the two parents of its level. */
  function family(it: Fixture, levels: number) {
    const pay = (prevouts: readonly Outpoint[], script: Uint8Array) =>
      parsed({
        ...it.unsigned(prevouts),
        outputs: [0, 1].map((i) => ({ value: BigInt(1000 - i), scriptPubKey: script })),
      });
    const script = it.script();
    const [root] = [pay([it.coins[0]!], script)];
    const all = [root!];
    let level = [root!];
    for (let i = 0; i < levels; i++) {
      const [first, last] = [level[0]!, level.at(-1)!];
      level = [
        pay([{ txid: first.txid, vout: 0 }], script),
        pay(
          [
            { txid: last.txid, vout: 1 },
            { txid: first.txid, vout: 1 },
          ],
          script,
        ),
      ];
      all.push(...level);
    }
    return all;
  }

  const statesOf = ({ wallet }: Fixture, txs: readonly { txid: Uint8Array }[]) =>
    txs.map(({ txid }) => wallet.store.txs.byTxid(txid)!.state);

  test('abandontransaction abandons descendants in slices, and a stop in between leaves no inactive child of an abandoned parent', async () => {
    for (const turns of [1, 3, 8, 11, 14, null]) {
      using it = new Fixture(3);
      const txs = family(it, 40);
      const { store, ledger } = it.wallet;
      // A child may have been seen before its parent.
      store.write(() => {
        for (const tx of txs.toReversed()) ledger.addTransaction(tx, { in: 'nothing' });
      });
      const reported: string[] = [];
      it.deps.mempool.abandoned = (_, txids) => void reported.push(...txids.map((txid) => txid.toHex()));
      stepsTakeAMillisecond();
      const abandoning = it.act.walletAbandon(NAME, txs[0]!.txid, never) as Promise<unknown>;
      abandoning.catch(() => {});
      if (turns === null) {
        expect(await turnsOf(abandoning)).toBeGreaterThanOrEqual((2 * txs.length) / 8 - 1);
        expect(await abandoning).toBeNull();
        expect(new Set(statesOf(it, txs))).toEqual(new Set([4]));
        // Each parent comes before its children.
        expect(reported).toHaveLength(txs.length);
        const at = new Map(reported.map((txid, i) => [txid, i]));
        for (const { tx, txid } of txs)
          for (const { prevout } of tx.inputs)
            expect(at.get(txid.toHex())!).toBeGreaterThan(at.get(prevout.txid.toHex()) ?? -1);
        continue;
      }
      for (let i = 0; i < turns; i++) await new Promise(setImmediate);
      spyOn(performance, 'now').mockRestore();
      it.reopen();
      const states = new Map(txs.map(({ txid }, i) => [txid.toHex(), statesOf(it, txs)[i]!]));
      for (const { tx, txid } of txs)
        for (const { prevout } of tx.inputs)
          if (states.get(prevout.txid.toHex()) === 4) expect(states.get(txid.toHex())).toBe(4);
      // The call can be made again.
      expect(await it.act.walletAbandon(NAME, txs[0]!.txid, never)).toBeNull();
      expect(new Set(statesOf(it, txs))).toEqual(new Set([4]));
    }
  });
});

describe('parallel calls', () => {
  test('parallel calls never choose the same coins or the same change address', async () => {
    using it = new Fixture(30);
    stepsTakeAMillisecond();
    const changes: unknown[] = [];
    const sends = Array.from({ length: 6 }, () => it.send(150_000n));
    changes.push(await it.act.walletNewChangeAddress(NAME, 'bech32', never));
    await Promise.all(sends);
    const spent = it.sent.flatMap(({ inputs }) => inputs.map(({ prevout }) => prevout.vout));
    expect(it.sent).toHaveLength(6);
    expect(new Set(spent).size).toBe(spent.length);
    const scripts = it.sent.flatMap(({ outputs }) => outputs.map(({ scriptPubKey }) => scriptPubKey.toHex()));
    const change = scripts.filter((script) => script !== FOREIGN.toHex());
    expect(new Set(change).size).toBe(change.length);
  });

  test('parallel calls with one request id pay once', async () => {
    using it = new Fixture(30);
    stepsTakeAMillisecond();
    const sends = await Promise.all(Array.from({ length: 5 }, () => it.send(150_000n, 'order 1')));
    expect(it.sent).toHaveLength(1);
    expect(new Set(sends.map((each) => (each as { txid: string }).txid)).size).toBe(1);
  });

  test('parallel calls do not spend coins that a block has spent meanwhile', async () => {
    using it = new Fixture(3);
    stepsTakeAMillisecond();
    const sending = it.send(250_000n);
    const theft = parsed({ ...it.unsigned(it.coins), outputs: [{ value: 1n, scriptPubKey: Uint8Array.of(0x51) }] });
    it.connect(theft);
    expect(await sending).toMatchObject({ refused: 'insufficientFunds' });
    expect(it.sent).toEqual([]);
  });
});
