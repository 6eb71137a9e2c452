import { dlopen } from 'bun:ffi';
import { mkdtempSync, rmSync } from 'node:fs';
import { loadavg, tmpdir } from 'node:os';
import { join } from 'node:path';
import { isRefusal, type NodeAction } from '../../src/api/node-actions.ts';
import { publicKeyOf } from '../../src/crypto/keys.ts';
import { walletActions } from '../../src/node/wallet-actions.ts';
import { regtest } from '../../src/params/regtest.ts';
import type { ParsedTransaction } from '../../src/primitives/block.ts';
import type { Txid } from '../../src/primitives/hash.ts';
import type { Outpoint } from '../../src/primitives/outpoint.ts';
import { type Transaction, transactionBytes } from '../../src/primitives/transaction.ts';
import { parseAddress } from '../../src/script/address.ts';
import { addChecksum } from '../../src/wallet/descriptor/checksum.ts';
import { ExtendedPrivateKey, formatExtendedPublicKey } from '../../src/wallet/keys/extended-key.ts';
import { encodePsbtBase64 } from '../../src/wallet/psbt/encode.ts';
import { createPsbt } from '../../src/wallet/psbt/psbt.ts';
import { ORDINARY_SPEND } from '../../src/wallet/spend/spend-request.ts';
import { WalletManager } from '../../src/wallet/wallet-manager.ts';
import { PlainChainReads } from '../wallet/plain-chain-reads.ts';
import { parsed, WalletFixture, walletMemory } from '../wallet/wallet-fixture.ts';
import { grouped, printTable } from './report.ts';

/** A call that goes on for longer is given up: its longest hold has been seen by then. */
const LONGEST_MS = 20_000;
const NAME = 'bench';
const PASSPHRASE = Uint8Array.of(120);
const FEE = { feerate: 1000n, overrideLimits: false, target: null, mode: 'unset' as const };

type Act = (name: NodeAction, ...args: readonly unknown[]) => Promise<unknown>;

interface World {
  readonly act: Act;
  readonly chain: WalletFixture['chain'];
  readonly manager: WalletManager;
}

interface Case {
  readonly call: string;
  readonly input: string;
  /** Called first, not measured; what it returns is what the call works on. */
  prepare?(world: World): Promise<unknown> | unknown;
  run(world: World, prepared: never): Promise<unknown>;
}

const CLOCK_THREAD_CPUTIME_ID = 3;
const libc = dlopen('libc.so.6', { clock_gettime: { args: ['i32', 'ptr'], returns: 'i32' } });
const timespec = new BigInt64Array(2);

/** Milliseconds that this thread has worked: what other processes take does not count. */
function workedMs(): number {
  libc.symbols.clock_gettime(CLOCK_THREAD_CPUTIME_ID, timespec);
  return Number(timespec[0]) * 1000 + Number(timespec[1]) / 1e6;
}

interface Hold {
  /** The longest, on the clock. */
  readonly ms: number;
  /** The longest, of the thread's own work. */
  readonly workedMs: number;
  readonly result: unknown;
}

/** Measures how long the thread goes without looking at what else waits. */
async function longestHold(work: (signal: AbortSignal) => Promise<unknown>): Promise<Hold> {
  let [longest, last, done] = [0, performance.now(), false];
  let [most, worked] = [0, workedMs()];
  const note = () => {
    const [now, by] = [performance.now(), workedMs()];
    longest = Math.max(longest, now - last);
    most = Math.max(most, by - worked);
    last = now;
    worked = by;
  };
  const look = () => {
    note();
    if (!done) setImmediate(look);
  };
  await new Promise(setImmediate);
  Bun.gc(true);
  last = performance.now();
  worked = workedMs();
  setImmediate(look);
  const ending = AbortSignal.timeout(LONGEST_MS);
  const result = await Promise.race([
    work(ending).catch((error) => error),
    new Promise((resolve) => ending.addEventListener('abort', () => resolve('given up'), { once: true })),
  ]);
  await new Promise(setImmediate);
  done = true;
  note();
  return { ms: longest, workedMs: most, result };
}

const secretOf = (seed: number): Uint8Array => {
  const secret = new Uint8Array(32).fill(1);
  new DataView(secret.buffer).setUint32(0, seed + 1);
  return secret;
};
const masterOf = (seed: number) => ExtendedPrivateKey.fromSeed(secretOf(seed));
const xpubOf = (seed: number) => formatExtendedPublicKey(masterOf(seed).neuter(), regtest.bip32);
const xprvOf = (seed: number) => masterOf(seed).revealText(regtest.bip32);
const xpubs = (count: number, tail = '') => Array.from({ length: count }, (_, i) => xpubOf(i) + tail).join(',');
const keyHex = (seed: number) => publicKeyOf(secretOf(seed), true).toHex();
const importOf = (desc: string, more: object = {}) => ({ timestamp: 'now', desc: addChecksum(desc), ...more });

function madeUp(seed: number): Txid {
  const txid = new Uint8Array(32).fill(0xdd) as Txid;
  new DataView(txid.buffer).setUint32(0, seed + 1);
  return txid;
}

function emptyInput(prevout: Outpoint) {
  return { prevout, scriptSig: new Uint8Array(0), sequence: 0xffff_fffd, witness: [] };
}

/** A transaction from nowhere that pays each script. */
function payTo(seed: number, scripts: readonly Uint8Array[], value = 100_000n): ParsedTransaction {
  const outputs = scripts.map((scriptPubKey, i) => ({ value: value + BigInt((i * 7919) % 50_000), scriptPubKey }));
  return parsed({ version: 2, locktime: seed, inputs: [emptyInput({ txid: madeUp(seed), vout: 0 })], outputs });
}

/** Confirms transactions, a block of some hundred at a time. */
function confirm({ chain, manager }: World, txs: readonly ParsedTransaction[], perBlock = 500): void {
  for (let i = 0; i < Math.max(txs.length, 1); i += perBlock) {
    const entry = chain.make(chain.tip, txs.slice(i, i + perBlock));
    chain.tip = entry;
    for (const { name } of manager.states)
      manager.wallet(name).sync.moved({
        disconnected: [],
        connected: [entry],
        bodies: [chain.bodies.get(entry)!],
        tip: entry,
      });
  }
}

async function wallet({ act }: World, options: object = {}): Promise<void> {
  const made = {
    disablePrivateKeys: false,
    blank: false,
    avoidReuse: false,
    passphrase: new Uint8Array(0),
    ...options,
  };
  const result = await act('walletCreate', NAME, made, false);
  if (isRefusal(result)) throw new Error(result.message);
}

async function addresses({ act }: World, count: number, type = 'bech32'): Promise<Uint8Array[]> {
  const scripts: Uint8Array[] = [];
  for (let i = 0; i < count; i++) {
    const address = parseAddress((await act('walletNewAddress', NAME, type, '')) as string, regtest.address);
    if (!address.ok) throw new Error(address.error);
    scripts.push(address.script);
  }
  return scripts;
}

/** A wallet with so many coins on some hundred addresses; returns them. */
async function coins(world: World, count: number, perTx = 500, type = 'bech32'): Promise<Outpoint[]> {
  await wallet(world);
  const scripts = await addresses(world, 300, type);
  const txs = Array.from({ length: Math.ceil(count / perTx) }, (_, tx) =>
    payTo(
      tx,
      Array.from({ length: perTx }, (__, i) => scripts[(tx * perTx + i) % scripts.length]!),
    ),
  );
  confirm(world, txs);
  for (let i = 0; i < 6; i++) confirm(world, []);
  return txs.flatMap(({ txid }) => Array.from({ length: perTx }, (_, vout) => ({ txid, vout }))).slice(0, count);
}

const spend = (value: bigint, more: object = {}) => ({
  ...ORDINARY_SPEND,
  recipients: [{ scriptPubKey: new Uint8Array([0, 20, ...new Uint8Array(20)]), value, subtractFee: false }],
  fee: FEE,
  ...more,
});
const NOTES = { comment: null, commentTo: null, requestId: null };

function spending(inputs: readonly Outpoint[]): Transaction {
  const outputs = [{ value: 1000n, scriptPubKey: new Uint8Array([0, 20, ...new Uint8Array(20)]) }];
  return { version: 2, locktime: 0, inputs: inputs.map(emptyInput), outputs };
}

/** As text: to write it is no work of the call. */
const psbtSpending = (outpoints: readonly Outpoint[]) => encodePsbtBase64(createPsbt(spending(outpoints), 2));
const processPsbt = ({ act }: World, psbt: string) =>
  act('walletProcessPsbt', NAME, psbt, { sign: true, derivations: true });

const watching = (world: World) => wallet(world, { blank: true, disablePrivateKeys: true });
const imports = (...requests: object[]) => ({
  prepare: watching,
  run: ({ act }: World) => act('walletImport', NAME, requests),
});

const CASES: readonly Case[] = [
  { call: 'createwallet', input: 'eight descriptors', run: (world) => wallet(world) },
  {
    call: 'createwallet',
    input: 'with a passphrase',
    run: (world) => wallet(world, { passphrase: PASSPHRASE.slice() }),
  },
  {
    call: 'keypoolrefill',
    input: '100,000',
    prepare: (world) => wallet(world),
    run: ({ act }) => act('walletRefillKeypool', NAME, 100_000),
  },
  {
    call: 'keypoolrefill',
    input: '2,000, filled before',
    prepare: async (world) => {
      await wallet(world);
      while (world.manager.wallet(NAME).filler.fillSome());
    },
    run: ({ act }) => act('walletRefillKeypool', NAME, 2000),
  },
  {
    call: 'getnewaddress',
    input: 'label of 1 MB',
    prepare: (world) => wallet(world),
    run: ({ act }) => act('walletNewAddress', NAME, 'bech32m', 'x'.repeat(1_000_000)),
  },
  {
    call: 'setlabel',
    input: 'label of 15 MB',
    prepare: async (world) => {
      await wallet(world);
      return world.act('walletNewAddress', NAME, 'bech32', '');
    },
    run: ({ act }, address) => act('walletSetLabel', NAME, address, 'x'.repeat(15_000_000)),
  },
  { call: 'importdescriptors', input: 'musig of 5,000 keys', ...imports(importOf(`tr(musig(${xpubs(5000)})/0/*)`)) },
  { call: 'importdescriptors', input: 'musig of 100 keys', ...imports(importOf(`tr(musig(${xpubs(100)})/0/*)`)) },
  {
    call: 'importdescriptors',
    input: 'musig of 100 ranged keys',
    ...imports(importOf(`tr(musig(${xpubs(100, '/*')}))`)),
  },
  {
    call: 'importdescriptors',
    input: 'multi_a of 999 keys',
    ...imports(importOf(`tr(${keyHex(5)},multi_a(1,${xpubs(999, '/*')}))`)),
  },
  {
    call: 'importdescriptors',
    input: 'wsh(multi) of 16 keys, range 1,000,000',
    ...imports(importOf(`wsh(multi(2,${xpubs(16, '/*')}))`, { range: 999_999 })),
  },
  {
    call: 'importdescriptors',
    input: 'tree of 8,192 keys',
    prepare: watching,
    run: ({ act }: World) => {
      const tree = (from: number, count: number): string =>
        count === 1 ? `pk(${keyHex(from)})` : `{${tree(from, count / 2)},${tree(from + count / 2, count / 2)}}`;
      return act('walletImport', NAME, [importOf(`tr(${keyHex(0)},${tree(0, 8192)})`)]);
    },
  },
  {
    call: 'importdescriptors',
    input: '4,000 paths <0;1;…>',
    ...imports(importOf(`wpkh(${xpubOf(1)}/<${Array.from({ length: 4000 }, (_, i) => i).join(';')}>/*)`)),
  },
  {
    call: 'importdescriptors',
    input: '10,000 descriptors',
    prepare: async (world) => {
      await watching(world);
      return Array.from({ length: 10_000 }, (_, i) => importOf(`wpkh(${keyHex(i)})`));
    },
    run: ({ act }, requests) => act('walletImport', NAME, requests),
  },
  {
    call: 'listdescriptors true',
    input: '5,000 descriptors with private keys',
    prepare: (world) => manyKeys(world, 5000),
    run: ({ act }) => act('walletPrivateDescriptors', NAME),
  },
  {
    call: 'gethdkeys',
    input: '5,000 descriptors with private keys',
    prepare: (world) => manyKeys(world, 5000),
    run: ({ act }) => act('walletHdKeys', NAME, false, true),
  },
  {
    call: 'derivehdkey',
    input: '255 steps',
    prepare: (world) => wallet(world),
    run: ({ act }) => act('walletDeriveHdKey', NAME, `m${'/1h'.repeat(255)}`, null, true),
  },
  {
    call: 'createwalletdescriptor',
    input: 'beside 5,000 descriptors',
    prepare: (world) => manyKeys(world, 5000),
    run: ({ act }) => act('walletCreateDescriptor', NAME, 'bech32', null, xpubOf(0)),
  },
  {
    call: 'addhdkey',
    input: 'beside 5,000 descriptors',
    prepare: (world) => manyKeys(world, 5000),
    run: ({ act }) => act('walletAddHdKey', NAME, null),
  },
  {
    call: 'encryptwallet',
    input: '5,000 keys',
    prepare: (world) => manyKeys(world, 5000),
    run: ({ act }) => act('walletEncrypt', NAME, PASSPHRASE.slice(), 'bench'),
  },
  {
    call: 'walletpassphrase',
    input: '5,000 keys, the first address then',
    prepare: async (world) => {
      await manyKeys(world, 5000);
      await world.act('walletEncrypt', NAME, PASSPHRASE.slice(), 'bench');
    },
    run: async ({ act }) => {
      await act('walletUnlock', NAME, PASSPHRASE.slice(), 60, 'bench');
      return act('walletNewAddress', NAME, 'bech32', '');
    },
  },
  {
    call: 'walletpassphrasechange',
    input: '',
    prepare: (world) => wallet(world, { passphrase: PASSPHRASE.slice() }),
    run: ({ act }) => act('walletChangePassphrase', NAME, PASSPHRASE.slice(), Uint8Array.of(121), 'bench'),
  },
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
  {
    call: 'importprunedfunds',
    input: '20,000 outputs of the wallet',
    prepare: async (world) => {
      await wallet(world);
      const [script] = await addresses(world, 1);
      confirm(world, []);
      return payTo(
        1,
        Array.from({ length: 20_000 }, () => script!),
      );
    },
    run: ({ act, chain }, tx: ParsedTransaction) => act('walletImportPruned', NAME, tx.raw, chain.tip.hash, 0),
  },
  {
    call: 'removeprunedfunds',
    input: '20,000 outputs of the wallet',
    prepare: async (world) => {
      await coins(world, 20_000, 20_000);
      return world.manager.wallet(NAME).store.reads.all()[0]!.txid;
    },
    run: ({ act }, txid) => act('walletRemovePruned', NAME, txid),
  },
  {
    call: 'rescanblockchain',
    input: '20,000 transactions',
    prepare: (world) => coins(world, 20_000, 1),
    run: ({ act }) => act('walletRescan', NAME, 0, null),
  },
  {
    call: 'loadwallet',
    input: '50,000 transactions',
    prepare: async (world) => {
      await coins(world, 50_000, 1);
      await world.act('walletUnload', NAME, false);
    },
    run: ({ act }) => act('walletLoad', NAME, false),
  },
  {
    call: 'loadwallet',
    input: '10,000 descriptors',
    prepare: async (world) => {
      await manyKeys(world, 10_000);
      await world.act('walletUnload', NAME, false);
    },
    run: ({ act }) => act('walletLoad', NAME, false),
  },
  {
    call: 'unloadwallet',
    input: '20,000 transactions',
    prepare: (world) => coins(world, 20_000, 1),
    run: ({ act }) => act('walletUnload', NAME, false),
  },
  {
    call: 'backupwallet',
    input: '20,000 transactions',
    prepare: (world) => coins(world, 20_000, 1),
    run: ({ act }) => act('walletBackup', NAME, 'copy', false),
  },
  {
    call: 'exportwatchonlywallet',
    input: '20,000 transactions',
    prepare: (world) => coins(world, 20_000, 1),
    run: ({ act }) => act('walletExportWatchOnly', NAME, 'copy'),
  },
];

/** A wallet with so many private keys, each in a descriptor of its own. */
async function manyKeys(world: World, count: number): Promise<void> {
  await wallet(world);
  const { store, vault, scripts } = world.manager.wallet(NAME);
  const { parseDescriptor } = await import('../../src/wallet/descriptor/parse.ts');
  store.write(() => {
    for (let i = 0; i < count; i++) {
      const found = parseDescriptor(`unused(${xprvOf(i)})`, regtest);
      if (!found.ok) throw new Error(found.error);
      vault.add(found.keys.privateKeys.values());
      scripts.add({
        descriptor: found.descriptors[0]!,
        createdAt: 1,
        rangeStart: 0,
        rangeEnd: 1,
        nextIndex: 0,
        internal: false,
      });
    }
  });
}

async function measure(one: Case): Promise<readonly [string, string]> {
  console.error(`${one.call}: ${one.input}`);
  using it = new WalletFixture({}, 100);
  const index = new PlainChainReads(it.chain);
  it.deps.chain.reads = () => index.reads;
  it.deps.mempool.broadcast = async () => ({ status: 'accepted' }) as never;
  const dir = mkdtempSync(join(tmpdir(), 'obverse-stalls-'));
  const manager = new WalletManager(
    {
      dir: join(dir, 'wallets'),
      backupDir: join(dir, 'backups'),
      autocreate: false,
      passphrase: () => null,
      max: 10,
      known: walletMemory(),
    },
    it.deps,
  );
  try {
    manager.open();
    const table = walletActions(manager) as Record<string, (...args: unknown[]) => Promise<unknown>>;
    const never = new AbortController().signal;
    const actWith =
      (signal: AbortSignal): Act =>
      (name, ...args) =>
        table[name]!(...args, signal);
    const world = { act: actWith(never), chain: it.chain, manager };
    const prepared = await one.prepare?.(world);
    const started = performance.now();
    const {
      ms,
      workedMs: work,
      result,
    } = await longestHold((signal) => one.run({ ...world, act: actWith(signal) }, prepared as never));
    const whole = (performance.now() - started) / 1000;
    const outcome =
      result instanceof Error
        ? result.message
        : isRefusal(result)
          ? result.message
          : typeof result === 'string' && result === 'given up'
            ? result
            : Array.isArray(result) && result[0]?.error
              ? result[0].error.message
              : 'ok';
    return [
      `${one.call}: ${one.input}`,
      `${grouped(work)} ms of work, ${grouped(ms)} ms, whole ${grouped(whole, 1)} s, ${outcome.slice(0, 60)}`,
    ] as const;
  } finally {
    it.ending.abort(new Error('measured'));
    manager.close();
    rmSync(dir, { recursive: true, force: true });
  }
}

/** How long each call of a wallet holds its thread in one piece, with the worst input it accepts. */
export async function benchWalletStalls(only = ''): Promise<void> {
  const rows: (readonly [string, string])[] = [];
  for (const one of CASES)
    if (`${one.call}: ${one.input}`.includes(only)) {
      const row = await measure(one);
      console.error(`  ${row[1]}`);
      rows.push(row);
    }
  printTable(`longest hold of the thread; load ${loadavg()[0]!.toFixed(1)}`, rows);
}
