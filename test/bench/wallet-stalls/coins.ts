import { parseTransaction } from '../../../src/primitives/block.ts';
import type { Outpoint } from '../../../src/primitives/outpoint.ts';
import { transactionBytes } from '../../../src/primitives/transaction.ts';
import {
  type Case,
  coins,
  FEE,
  madeUp,
  NAME,
  NOTES,
  processPsbt,
  psbtSpending,
  spend,
  spending,
  wallet,
} from './world.ts';

/** Calls that choose, spend and sign for coins. */
export const COIN_CASES: readonly Case[] = [
  {
    call: 'lockunspent',
    input: '20,000 outpoints of one transaction each',
    prepare: (world) => coins(world, 20_000, 1),
    run: ({ act }, outpoints) => act('walletLockCoins', NAME, false, outpoints, true),
  },
  {
    call: 'lockunspent',
    input: '20,000 outpoints of transactions of 2,000 outputs',
    prepare: (world) => coins(world, 20_000, 2000),
    run: ({ act }, outpoints) => act('walletLockCoins', NAME, false, outpoints, true),
  },
  {
    call: 'sendtoaddress',
    input: 'from 20,000 coins',
    prepare: (world) => coins(world, 20_000),
    run: ({ act }) => act('walletSendMoney', NAME, spend(50_000_000n), NOTES),
  },
  {
    call: 'sendmany',
    input: '2,500 recipients from 20,000 coins',
    prepare: (world) => coins(world, 20_000),
    run: ({ act }) =>
      act(
        'walletSendMoney',
        NAME,
        spend(0n, {
          recipients: Array.from({ length: 2500 }, () => ({ ...spend(10_000n).recipients[0] })),
        }),
        NOTES,
      ),
  },
  {
    call: 'send',
    input: 'from 20,000 coins',
    prepare: (world) => coins(world, 20_000),
    run: ({ act }) => act('walletSend', NAME, spend(50_000_000n), { psbt: false, addToWallet: true }, null),
  },
  {
    call: 'sendall',
    input: '20,000 coins',
    prepare: (world) => coins(world, 20_000),
    run: ({ act }) =>
      act(
        'walletSendAll',
        NAME,
        { ...spend(0n), sharers: [0], onlyWorthwhile: false, addresses: ['x'] },
        { psbt: false, addToWallet: true },
      ),
  },
  {
    call: 'sendall',
    input: '1,400 coins',
    prepare: (world) => coins(world, 1400, 700),
    run: ({ act }) =>
      act(
        'walletSendAll',
        NAME,
        { ...spend(0n), sharers: [0], onlyWorthwhile: false, addresses: ['x'] },
        { psbt: false, addToWallet: true },
      ),
  },
  {
    call: 'fundrawtransaction',
    input: 'from 20,000 coins, 1,000 of them named',
    prepare: (world) => coins(world, 20_000),
    run: ({ act }, outpoints: Outpoint[]) =>
      act(
        'walletFund',
        NAME,
        spend(150_000_000n, {
          inputs: outpoints.slice(0, 1000).map((outpoint) => ({ outpoint, sequence: null, weight: null })),
        }),
      ),
  },
  {
    call: 'walletcreatefundedpsbt',
    input: '1,000 inputs',
    prepare: (world) => coins(world, 20_000),
    run: ({ act }) => act('walletCreatePsbt', NAME, spend(110_000_000n), 2, true),
  },
  {
    call: 'walletprocesspsbt',
    input: '5,000 inputs of the wallet',
    prepare: async (world) => psbtSpending(await coins(world, 5000)),
    run: processPsbt,
  },
  {
    call: 'walletprocesspsbt',
    input: '20,000 inputs of others',
    prepare: async (world) => {
      await wallet(world);
      return psbtSpending(Array.from({ length: 20_000 }, (_, i) => ({ txid: madeUp(i), vout: 0 })));
    },
    run: processPsbt,
  },
  {
    call: 'walletprocesspsbt',
    input: '5,000 legacy inputs of the wallet',
    prepare: async (world) => psbtSpending(await coins(world, 5000, 500, 'legacy')),
    run: processPsbt,
  },
  {
    call: 'signrawtransactionwithwallet',
    input: '5,000 inputs',
    prepare: (world) => coins(world, 5000),
    run: ({ act }, outpoints: Outpoint[]) =>
      act(
        'walletSignTransaction',
        NAME,
        transactionBytes(spending(outpoints)),
        outpoints.map(() => null),
        [],
        1,
      ),
  },
  {
    call: 'bumpfee',
    input: 'payment of 1,000 inputs beside 20,000 coins',
    prepare: async (world) => {
      await coins(world, 20_000);
      const sent = (await world.act('walletSendMoney', NAME, spend(110_000_000n), NOTES)) as { txid: string };
      // Its inputs are spent only by itself.
      const { store, deps } = world.manager.wallet(NAME);
      const known = new Map(
        store.reads.allTransactions().map(({ id, txid }) => [txid.toHex(), parseTransaction(store.txs.raw(id))]),
      );
      deps.mempool.get = (txid) => known.get(txid.toHex()) ?? null;
      return Uint8Array.fromHex(sent.txid).reverse();
    },
    run: ({ act }, txid) =>
      act('walletBump', NAME, txid, {
        fee: { ...FEE, feerate: 5000n },
        replaceable: true,
        outputs: [],
        changeIndex: null,
        psbtVersion: null,
      }),
  },
];
