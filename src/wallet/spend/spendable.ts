import { hash160 } from '../../crypto/hash-functions.ts';
import { TRUC_VERSION } from '../../policy/truc.ts';
import type { Amount } from '../../primitives/amount.ts';
import { parseTransaction } from '../../primitives/block.ts';
import { hashToHex, type Txid } from '../../primitives/hash.ts';
import { type Outpoint, outpointKey } from '../../primitives/outpoint.ts';
import type { Transaction, TxOutput } from '../../primitives/transaction.ts';
import { p2wpkh, scriptType } from '../../script/templates.ts';
import { equalBytes } from '../../util/bytes.ts';
import { runSteps, type Steps } from '../../util/slices.ts';
import { type InputSize, inputSizeOf } from '../coin-selection/input-size.ts';
import { type PresetInput, versionConflict } from '../coin-selection/preset-inputs.ts';
import type { WalletCoin } from '../coin-selection/wallet-coin.ts';
import type { Descriptor, OutputType } from '../descriptor/descriptor.ts';
import { inferDescriptor } from '../descriptor/infer.ts';
import { parseDescriptor } from '../descriptor/parse-descriptor.ts';
import { SigningData } from '../keys/signing-data.ts';
import { availableCoinsSteps } from '../read/available-coins.ts';
import { WalletView } from '../read/wallet-view.ts';
import { TxStateCode } from '../store/wallet-schema.ts';
import type { WalletTxRecord } from '../store/wallet-tx-reads.ts';
import type { Wallet } from '../wallet.ts';
import { walletFail } from '../wallet-error.ts';
import type { ExternalSolvingData, NamedInput, SpendRequest } from './spend-request.ts';

type CoinFilter = Pick<SpendRequest, 'minDepth' | 'maxDepth' | 'includeUnsafe' | 'avoidReuse' | 'version'>;

/** The kind of an output of the wallet, and the size of the input that spends it. */
interface SpendShape {
  readonly type: OutputType | null;
  /** Null where the wallet cannot spend it. */
  readonly size: InputSize | null;
}

/** Input sizes by descriptor: all scripts of one have the same, but for those of combo(), which has several kinds. */
export class InputSizes {
  readonly #wallet: Wallet;
  /** Data for outputs that are not the wallet's. */
  readonly #others: SigningData;
  readonly #known = new Map<number, SpendShape>();
  /** By descriptor and kind of script. */
  readonly #ofKinds = new Map<string, SpendShape>();

  constructor(wallet: Wallet, others: ExternalSolvingData | null = null) {
    this.#wallet = wallet;
    this.#others = others ? solvingData(wallet, others) : new SigningData();
  }

  /** Returns null where the wallet cannot spend the script. */
  ofScript(script: Uint8Array): InputSize | null {
    const [record] = this.#wallet.scripts.scriptRecords(script);
    return record ? this.shapeOf(record.descriptor, script).size : null;
  }

  /** Returns null where it is unknown how to spend the script. A taproot output shows its key. */
  ofUnknownScript(script: Uint8Array): InputSize | null {
    const own = this.ofScript(script);
    if (own) return own;
    const inferred = inferDescriptor(script, this.#others, this.#wallet.deps.params);
    // Signature sizes of other signers are unknown.
    return inferred.isSolvable ? inputSizeOf(inferred, true) : null;
  }

  /** Returns null where the wallet cannot spend the scripts, or they are of several kinds. */
  ofDescriptor(id: number): InputSize | null {
    const { descriptor } = this.#wallet.scripts.descriptorById(id);
    return descriptor.isSingleType ? this.#ofSingleType(id, descriptor).size : null;
  }

  /** Returns the kind and the size of a script of a descriptor. */
  shapeOf(id: number, script: Uint8Array): SpendShape {
    const { scripts, deps } = this.#wallet;
    const { descriptor } = scripts.descriptorById(id);
    if (descriptor.isSingleType) return this.#ofSingleType(id, descriptor);
    const kind = `${id} ${scriptType(script).type}`;
    let shape = this.#ofKinds.get(kind);
    if (shape === undefined) {
      const data = scripts.solvingData(script);
      shape = data ? this.#shapeOf(inferDescriptor(script, data, deps.params)) : { type: null, size: null };
      this.#ofKinds.set(kind, shape);
    }
    return shape;
  }

  #ofSingleType(id: number, descriptor: Descriptor): SpendShape {
    let shape = this.#known.get(id);
    if (shape === undefined) {
      shape = this.#shapeOf(descriptor);
      this.#known.set(id, shape);
    }
    return shape;
  }

  #shapeOf(descriptor: Descriptor): SpendShape {
    // The wallet grinds for a low R; a signer for a watch-only wallet may not.
    const useMaxSignature = this.#wallet.hasFlag('disable_private_keys');
    const size = descriptor.isSolvable ? inputSizeOf(descriptor, useMaxSignature) : null;
    return { type: descriptor.outputType, size };
  }
}

/** Returns the coins that a transaction may spend, without those of some outpoints. */
export function* spendableCoins(
  wallet: Wallet,
  filter: CoinFilter,
  feerate: Amount,
  without: ReadonlySet<string> = new Set(),
): Steps<WalletCoin[]> {
  const { reads } = wallet.store;
  const view = new WalletView(reads, { trustsOwn: wallet.deps.spending.spendUnconfirmedChange });
  const sizes = new InputSizes(wallet);
  const avoidReuse = wallet.hasFlag('avoid_reuse') && filter.avoidReuse !== false;
  const { minDepth, maxDepth, includeUnsafe } = filter;
  const bounds = { minValue: 0, maxValue: null, includeImmature: false };
  const coins: WalletCoin[] = [];
  for (const { coin, depth } of yield* availableCoinsSteps(view, { minDepth, maxDepth, includeUnsafe, ...bounds })) {
    yield;
    const { script, value } = coin;
    if (avoidReuse && reads.isUsed(script)) continue;
    if (depth === 0 && versionConflict(versionOf(wallet, coin.tx), filter.version) !== null) continue;
    const outpoint = { txid: coin.txid as Txid, vout: coin.vout };
    if (without.size > 0 && without.has(outpointKey(outpoint))) continue;
    const standing = depth === 0 ? wallet.deps.mempool.standing(coin.txid) : null;
    if (filter.version === TRUC_VERSION && standing && (standing.ancestors > 1 || standing.hasDescendants)) continue;
    const { type, size } = sizes.shapeOf(coin.descriptor, script);
    coins.push({
      outpoint,
      output: { value: BigInt(value), scriptPubKey: script },
      type: type ?? 'unknown',
      depth,
      size,
      fromMe: coin.fromMe,
      ancestors: standing?.ancestors ?? 0,
      clusterCount: standing?.clusterCount ?? 0,
      bumpFee: 0n,
    });
  }
  return withBumpFees(wallet, filter.version === TRUC_VERSION ? withOneParent(coins) : coins, feerate);
}

/** BIP-431: a version 3 transaction may have one unconfirmed parent. Keeps the coins of the most valuable one. */
function withOneParent(coins: readonly WalletCoin[]): WalletCoin[] {
  const worth = new Map<string, Amount>();
  for (const { depth, outpoint, output } of coins) {
    if (depth > 0) continue;
    const txid = hashToHex(outpoint.txid);
    worth.set(txid, (worth.get(txid) ?? 0n) + output.value);
  }
  const [parent] = [...worth].reduce((best, next) => (next[1] > best[1] ? next : best), ['', 0n]);
  return coins.filter(({ depth, outpoint }) => depth > 0 || hashToHex(outpoint.txid) === parent);
}

function withBumpFees(wallet: Wallet, coins: readonly WalletCoin[], feerate: Amount): WalletCoin[] {
  const loose = coins.filter(({ depth }) => depth === 0);
  if (loose.length === 0) return [...coins];
  const { each } = wallet.deps.mempool.bumpFees(
    loose.map(({ outpoint }) => outpoint),
    feerate,
  );
  const fees = new Map(loose.map((coin, i) => [coin, each[i]!]));
  return coins.map((coin) => {
    const bumpFee = fees.get(coin);
    return bumpFee ? { ...coin, bumpFee } : coin;
  });
}

function versionOf({ store }: Wallet, tx: number): number {
  return parseTransaction(store.txs.raw(tx)).tx.version;
}

/**
 * Returns the outputs that a transaction spends, one in each step; null where one is not found. Outputs that are
 * `given`, in the order of the inputs, are not looked up.
 */
export function* findOutputs(
  wallet: Wallet,
  { inputs }: Pick<Transaction, 'inputs'>,
  given: readonly (TxOutput | null)[] = [],
): Steps<(TxOutput | null)[]> {
  const found: (TxOutput | null)[] = [];
  // Many inputs may spend outputs of one large transaction.
  let last: { readonly txid: Uint8Array; readonly outputs: readonly TxOutput[] } | null = null;
  for (const [i, { prevout }] of inputs.entries()) {
    if (given[i]) {
      found.push(given[i]);
      continue;
    }
    yield;
    if (!last || !equalBytes(last.txid, prevout.txid)) {
      const own = wallet.store.txs.byTxid(prevout.txid);
      last = own && { txid: prevout.txid, outputs: outputsOf(wallet, own) };
    }
    found.push(last ? (last.outputs[prevout.vout] ?? null) : findUnspent(wallet, prevout));
  }
  return found;
}

/** Returns an output of the wallet's transactions, of the mempool or of the chain; null where it is not found. */
function findOutput(wallet: Wallet, outpoint: Outpoint): TxOutput | null {
  const own = wallet.store.txs.byTxid(outpoint.txid);
  if (own) return outputsOf(wallet, own)[outpoint.vout] ?? null;
  return findUnspent(wallet, outpoint);
}

/** Throws WalletError where the stored transaction does not have its txid: signatures commit to its amounts. */
function outputsOf(wallet: Wallet, { id, txid }: Pick<WalletTxRecord, 'id' | 'txid'>): readonly TxOutput[] {
  const parsed = parseTransaction(wallet.store.txs.raw(id));
  if (equalBytes(parsed.txid, txid)) return parsed.tx.outputs;
  wallet.integrity.fail(`transaction ${hashToHex(txid as Txid)} is stored with other contents`);
  return walletFail('wallet', `Error: ${wallet.integrity.warnings[0]}`);
}

/** Returns an output of the mempool, or an unspent one of the chain; null where it is in neither. */
export function findUnspent({ deps }: Wallet, { txid, vout }: Outpoint): TxOutput | null {
  const loose = deps.mempool.get(txid);
  if (loose) return loose.tx.outputs[vout] ?? null;
  return deps.chain.reads().coins.get({ txid, vout })?.output ?? null;
}

/** Returns the version of an unconfirmed wallet transaction that created an output; else null. */
export function unconfirmedVersion(wallet: Wallet, { txid }: Outpoint): number | null {
  const own = wallet.store.txs.byTxid(txid);
  return own === null || own.state === TxStateCode.CONFIRMED ? null : versionOf(wallet, own.id);
}

/** Returns the data of inputs that the caller names. */
export function* presetInputs(
  wallet: Wallet,
  inputs: readonly NamedInput[],
  sizes: InputSizes,
  feerate: Amount,
): Steps<PresetInput[]> {
  const { each } = wallet.deps.mempool.bumpFees(
    inputs.map(({ outpoint }) => outpoint),
    feerate,
  );
  const found: PresetInput[] = [];
  for (const [position, { outpoint, sequence, weight, solution = null }] of inputs.entries()) {
    yield;
    const output = findOutput(wallet, outpoint);
    found.push({
      outpoint,
      output,
      weight,
      size: output && sizes.ofUnknownScript(output.scriptPubKey),
      sequence,
      solution,
      position,
      unconfirmedVersion: unconfirmedVersion(wallet, outpoint),
      bumpFee: each[position]!,
    });
  }
  return found;
}

/** Core's FundTransaction, the part of solving_data. */
function solvingData({ deps }: Wallet, { publicKeys, scripts, descriptors }: ExternalSolvingData): SigningData {
  const data = new SigningData();
  for (const publicKey of publicKeys) {
    data.addPublicKey(publicKey);
    data.addScript(p2wpkh(hash160(publicKey)));
  }
  for (const script of scripts) data.addScript(script);
  for (const text of descriptors) {
    const parsed = parseDescriptor(text, deps.params, { requireChecksum: true });
    if (!parsed.ok) continue;
    data.merge(parsed.keys);
    for (const descriptor of parsed.descriptors) {
      const expansion = descriptor.expand(0, data);
      if (expansion) data.merge(expansion.data);
    }
  }
  return data;
}

/** Returns the data of scripts, with their private keys while those are unlocked; the caller wipes them. */
export function signingData(wallet: Wallet, scripts: Iterable<Uint8Array>, withKeys: boolean): SigningData {
  return runSteps(signingDataSteps(wallet, scripts, withKeys));
}

/** Collects the data a script in each step. */
export function* signingDataSteps(
  wallet: Wallet,
  scripts: Iterable<Uint8Array>,
  withKeys: boolean,
): Steps<SigningData> {
  using wiped = new DisposableStack();
  const data = wiped.use(new SigningData());
  for (const script of scripts) {
    yield;
    // Read again at each step: the wallet may have been locked in between.
    const keys = withKeys ? wallet.vault.provider() : wallet.vault.available();
    for (const { descriptor, position } of wallet.scripts.scriptRecords(script)) {
      const owned = wallet.scripts.descriptorById(descriptor);
      const expansion = owned.expand(position, keys);
      if (expansion) data.merge(expansion.data);
      if (withKeys) for (const key of owned.descriptor.expandPrivate(position, keys)) data.addPrivateKey(key);
    }
  }
  if (withKeys) wallet.ensureUnlocked();
  wiped.move();
  return data;
}
