import { publicKeyOf } from '../../../src/crypto/keys.ts';
import { regtest } from '../../../src/params/regtest.ts';
import type { NodeCallName } from '../../../src/port/node-calls.ts';
import { isRefusal } from '../../../src/port/refusal.ts';
import type { ParsedTransaction } from '../../../src/primitives/block.ts';
import type { Txid } from '../../../src/primitives/hash.ts';
import type { Outpoint } from '../../../src/primitives/outpoint.ts';
import type { Transaction } from '../../../src/primitives/transaction.ts';
import { parseAddress } from '../../../src/script/address.ts';
import { addChecksum } from '../../../src/wallet/descriptor/checksum.ts';
import { ExtendedPrivateKey, formatExtendedPublicKey } from '../../../src/wallet/keys/extended-key.ts';
import { encodePsbtBase64 } from '../../../src/wallet/psbt/encode.ts';
import { createPsbt } from '../../../src/wallet/psbt/psbt.ts';
import { ORDINARY_SPEND } from '../../../src/wallet/spend/spend-request.ts';
import type { WalletManager } from '../../../src/wallet/wallet-manager.ts';
import { parsed, type WalletFixture } from '../../wallet/wallet-fixture.ts';

export const NAME = 'bench';
export const PASSPHRASE = Uint8Array.of(120);
export const FEE = { feerate: 1000n, overrideLimits: false, target: null, mode: 'unset' as const };

export type Act = (name: NodeCallName, ...args: readonly unknown[]) => Promise<unknown>;

export interface World {
  readonly act: Act;
  readonly chain: WalletFixture['chain'];
  readonly manager: WalletManager;
}

export interface Case {
  readonly call: string;
  readonly input: string;
  /** The call is given up after this time, seconds; 20 where absent. */
  readonly limit?: number;
  /** Called first, outside of the measurement. The call gets its result. */
  prepare?(world: World): Promise<unknown> | unknown;
  run(world: World, prepared: never): Promise<unknown>;
}

export const secretOf = (seed: number): Uint8Array => {
  const secret = new Uint8Array(32).fill(1);
  new DataView(secret.buffer).setUint32(0, seed + 1);
  return secret;
};
export const masterOf = (seed: number) => ExtendedPrivateKey.fromSeed(secretOf(seed));
export const xpubOf = (seed: number) => formatExtendedPublicKey(masterOf(seed).neuter(), regtest.bip32);
export const xprvOf = (seed: number) => masterOf(seed).revealText(regtest.bip32);
export const xpubs = (count: number, tail = '') => Array.from({ length: count }, (_, i) => xpubOf(i) + tail).join(',');
export const keyHex = (seed: number) => publicKeyOf(secretOf(seed), true).toHex();
export const importOf = (desc: string, more: object = {}) => ({ timestamp: 'now', desc: addChecksum(desc), ...more });

export function madeUp(seed: number): Txid {
  const txid = new Uint8Array(32).fill(0xdd) as Txid;
  new DataView(txid.buffer).setUint32(0, seed + 1);
  return txid;
}

export function emptyInput(prevout: Outpoint) {
  return { prevout, scriptSig: new Uint8Array(0), sequence: 0xffff_fffd, witness: [] };
}

/** Returns a transaction without known inputs that pays each script. */
export function payTo(seed: number, scripts: readonly Uint8Array[], value = 100_000n): ParsedTransaction {
  const outputs = scripts.map((scriptPubKey, i) => ({ value: value + BigInt((i * 7919) % 50_000), scriptPubKey }));
  return parsed({ version: 2, locktime: seed, inputs: [emptyInput({ txid: madeUp(seed), vout: 0 })], outputs });
}

/** Confirms transactions in blocks of a few hundred. */
export function confirm({ chain, manager }: World, txs: readonly ParsedTransaction[], perBlock = 500): void {
  for (let i = 0; i < Math.max(txs.length, 1); i += perBlock) {
    const entry = chain.make(chain.tip, txs.slice(i, i + perBlock));
    chain.tip = entry;
    for (const { name } of manager.states)
      manager.wallet(name).sync.onChainMoved({
        disconnected: [],
        connected: [entry],
        bodies: [chain.bodies.get(entry)!],
        tip: entry,
      });
  }
}

export async function wallet({ act }: World, options: object = {}): Promise<void> {
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

export async function addresses({ act }: World, count: number, type = 'bech32'): Promise<Uint8Array[]> {
  const scripts: Uint8Array[] = [];
  for (let i = 0; i < count; i++) {
    const address = parseAddress((await act('walletNewAddress', NAME, type, '')) as string, regtest.address);
    if (!address.ok) throw new Error(address.error);
    scripts.push(address.script);
  }
  return scripts;
}

/** Adds this number of coins on a few hundred addresses, or on one, to the wallet, and returns them. */
export async function coins(
  world: World,
  count: number,
  perTx = 500,
  { type = 'bech32', scripts: spread = 300 }: { readonly type?: string; readonly scripts?: number } = {},
): Promise<Outpoint[]> {
  await wallet(world);
  const scripts = await addresses(world, spread, type);
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

/** Adds transactions to the wallet that are neither in a block nor in the mempool. */
export function inactive({ manager }: World, txs: readonly ParsedTransaction[]): void {
  const { store, ledger, sync } = manager.wallet(NAME);
  store.write(() => {
    for (const tx of txs) ledger.addTransaction(tx, { in: 'nothing' });
  });
  for (const tx of txs) sync.watchTransaction(tx);
}

/** A transaction that spends coins and pays a script once for each amount. */
export function payFrom(
  inputs: readonly Outpoint[],
  script: Uint8Array,
  values: readonly bigint[] = [1000n],
): ParsedTransaction {
  const outputs = values.map((value) => ({ value, scriptPubKey: script }));
  return parsed({ version: 2, locktime: 0, inputs: inputs.map(emptyInput), outputs });
}

export const spend = (value: bigint, more: object = {}) => ({
  ...ORDINARY_SPEND,
  recipients: [{ scriptPubKey: new Uint8Array([0, 20, ...new Uint8Array(20)]), value, subtractFee: false }],
  fee: FEE,
  ...more,
});
export const NOTES = { comment: null, commentTo: null, requestId: null };

export function spending(inputs: readonly Outpoint[]): Transaction {
  const outputs = [{ value: 1000n, scriptPubKey: new Uint8Array([0, 20, ...new Uint8Array(20)]) }];
  return { version: 2, locktime: 0, inputs: inputs.map(emptyInput), outputs };
}

/** Returns a PSBT as text, since its encoding is no work of the measured call. */
export const psbtSpending = (outpoints: readonly Outpoint[]) => encodePsbtBase64(createPsbt(spending(outpoints), 2));
export const processPsbt = ({ act }: World, psbt: string) =>
  act('walletProcessPsbt', NAME, psbt, { sign: true, derivations: true });

export const watching = (world: World) => wallet(world, { blank: true, disablePrivateKeys: true });
export const imports = (...requests: object[]) => ({
  prepare: watching,
  run: ({ act }: World) => act('walletImport', NAME, requests),
});

/** Creates a wallet with this number of private keys, each in its own descriptor. */
export async function manyKeys(world: World, count: number): Promise<void> {
  await wallet(world);
  const { store, vault, scripts } = world.manager.wallet(NAME);
  const { parseDescriptor } = await import('../../../src/wallet/descriptor/parse-descriptor.ts');
  store.write(() => {
    for (let i = 0; i < count; i++) {
      const found = parseDescriptor(`unused(${xprvOf(i)})`, regtest);
      if (!found.ok) throw new Error(found.error);
      vault.addKeys(found.keys.privateKeys.values());
      scripts.addDescriptor({
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
