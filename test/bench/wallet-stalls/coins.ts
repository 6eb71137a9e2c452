import { parseTransaction } from '../../../src/primitives/block.ts';
import type { Outpoint } from '../../../src/primitives/outpoint.ts';
import { transactionBytes } from '../../../src/primitives/transaction.ts';
import { encodePsbtBase64 } from '../../../src/wallet/psbt/encode.ts';
import { createPsbt } from '../../../src/wallet/psbt/psbt.ts';
import type { SpendRequest } from '../../../src/wallet/spend/spend-request.ts';
import {
  addresses,
  type Case,
  coins,
  confirm,
  FEE,
  madeUp,
  NAME,
  NOTES,
  payFrom,
  processPsbt,
  psbtSpending,
  spend,
  spending,
  type World,
  wallet,
} from './world.ts';

const recipients = (count: number) => Array.from({ length: count }, () => ({ ...spend(10_000n).recipients[0]! }));

/** Sends a payment from 20,000 coins; returns its txid. */
async function sentPayment(world: World, request: SpendRequest): Promise<Uint8Array> {
  await coins(world, 20_000);
  return knownPayment(world, request);
}

/** Sends a payment; returns its txid. The mempool has it afterwards. */
async function knownPayment({ act, manager }: World, request: SpendRequest): Promise<Uint8Array> {
  const sent = (await act('walletSendMoney', NAME, request, NOTES)) as { txid: string };
  // Its inputs are spent only by itself.
  const { store, deps } = manager.wallet(NAME);
  const known = new Map(
    store.reads.allTransactions().map(({ id, txid }) => [txid.toHex(), parseTransaction(store.txs.raw(id))]),
  );
  deps.mempool.get = (txid) => known.get(txid.toHex()) ?? null;
  return Uint8Array.fromHex(sent.txid).reverse();
}

const bump = ({ act }: World, txid: Uint8Array, psbtVersion: number | null) =>
  act('walletBump', NAME, txid, {
    fee: { ...FEE, feerate: 5000n },
    replaceable: true,
    outputs: [],
    changeIndex: null,
    psbtVersion,
  });

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
    call: 'sendtoaddress',
    input: 'from 100,000 coins',
    limit: 60,
    prepare: (world) => coins(world, 100_000),
    run: ({ act }) => act('walletSendMoney', NAME, spend(50_000_000n), NOTES),
  },
  {
    call: 'sendtoaddress',
    input: 'from 20,000 coins of one amount',
    prepare: async (world) => {
      await wallet(world);
      const [script] = await addresses(world, 1);
      const txs = Array.from({ length: 40 }, (_, i) =>
        payFrom([{ txid: madeUp(i), vout: 0 }], script!, new Array<bigint>(500).fill(100_000n)),
      );
      confirm(world, txs);
      for (let i = 0; i < 6; i++) confirm(world, []);
    },
    run: ({ act }) => act('walletSendMoney', NAME, spend(50_050_000n), NOTES),
  },
  {
    call: 'sendmany',
    input: '2,500 recipients from 20,000 coins',
    prepare: (world) => coins(world, 20_000),
    run: ({ act }) => act('walletSendMoney', NAME, spend(0n, { recipients: recipients(2500) }), NOTES),
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
    limit: 90,
    prepare: async (world) => psbtSpending(await coins(world, 5000)),
    run: processPsbt,
  },
  {
    call: 'walletprocesspsbt',
    input: '15 MB',
    prepare: async (world) => {
      await wallet(world);
      const [script] = await addresses(world, 1);
      const outputs = [{ value: 1000n, scriptPubKey: script! }];
      for (let i = 0; i < 110; i++) outputs.push({ value: 1000n, scriptPubKey: new Uint8Array(100_000).fill(0x51) });
      return encodePsbtBase64(createPsbt({ ...spending([{ txid: madeUp(0), vout: 0 }]), outputs }, 2));
    },
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
    limit: 90,
    prepare: async (world) => psbtSpending(await coins(world, 5000, 500, { type: 'legacy' })),
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
    call: 'signrawtransactionwithwallet',
    input: '100,000 outputs',
    prepare: async (world) => {
      const [coin] = await coins(world, 500);
      const outputs = Array.from({ length: 100_000 }, (_, i) => ({
        value: 1n,
        scriptPubKey: Uint8Array.of(0, 20, ...madeUp(i).subarray(0, 20)),
      }));
      return transactionBytes({ ...spending([coin!]), outputs });
    },
    run: ({ act }, raw: Uint8Array) => act('walletSignTransaction', NAME, raw, [null], [], 1),
  },
  ...['bumpfee', 'psbtbumpfee'].map(
    (call): Case => ({
      call,
      input: 'payment of 1,000 inputs beside 20,000 coins',
      prepare: (world) => sentPayment(world, spend(110_000_000n)),
      run: (world, txid: Uint8Array) => bump(world, txid, call === 'psbtbumpfee' ? 2 : null),
    }),
  ),
  {
    call: 'bumpfee',
    input: 'payment to 2,500 recipients beside 20,000 coins',
    prepare: (world) => sentPayment(world, spend(0n, { recipients: recipients(2500) })),
    run: (world, txid: Uint8Array) => bump(world, txid, null),
  },
  {
    call: 'bumpfee',
    input: 'payment to 2,000 addresses of the wallet, all of them change',
    prepare: async (world) => {
      await coins(world, 20_000);
      const scripts: Uint8Array[] = [];
      for (let i = 0; i < 2000; i++) scripts.push(world.manager.wallet(NAME).newChangeAddress('bech32').script);
      const to = scripts.map((scriptPubKey) => ({ scriptPubKey, value: 10_000n, subtractFee: false }));
      return knownPayment(world, spend(0n, { recipients: to }));
    },
    run: (world, txid: Uint8Array) => bump(world, txid, null),
  },
];
