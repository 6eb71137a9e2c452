import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { ChainEntry } from '../../src/chain/chain-entry.ts';
import { regtest } from '../../src/params/regtest.ts';
import { type ParsedBlock, type ParsedTransaction, parseBlock, parseTransaction } from '../../src/primitives/block.ts';
import type { BlockHash, MerkleRoot } from '../../src/primitives/hash.ts';
import { type Transaction, transactionBytes } from '../../src/primitives/transaction.ts';
import { parseAddress } from '../../src/script/address.ts';
import { createLog, type Log } from '../../src/util/log.ts';
import { ExternalSigner } from '../../src/wallet/signer/external-signer.ts';
import type { SpendPolicy } from '../../src/wallet/spend/spend-policy.ts';
import { Wallet } from '../../src/wallet/wallet.ts';
import type { WalletMemory } from '../../src/wallet/wallet-memory.ts';
import type { NewWallet, WalletDeps } from '../../src/wallet/wallet-options.ts';
import { ManualClock } from '../lib/manual-clock.ts';

const SILENT: Log = createLog({ level: 'error', format: 'json', write: (bytes) => bytes.length });
export const TIME_0 = 1_700_000_000;

/** Blocks without proof of work for wallets under test. */
export class PlainChain {
  readonly entries = new Map<string, ChainEntry>();
  readonly bodies = new Map<ChainEntry, ParsedBlock>();
  tip: ChainEntry;
  #made = 0;

  constructor() {
    this.tip = this.#entry(null, 0);
  }

  /** A block on top of another, which need not be the tip. */
  make(parent: ChainEntry, txs: readonly ParsedTransaction[]): ChainEntry {
    const entry = this.#entry(parent, TIME_0 + (parent.height + 1) * 600);
    const empty = parseBlock(new Uint8Array(81));
    this.bodies.set(entry, { ...empty, hash: entry.hash, header: entry.header, txs });
    return entry;
  }

  #entry(parent: ChainEntry | null, time: number): ChainEntry {
    const hash = new Uint8Array(32) as BlockHash;
    new DataView(hash.buffer).setUint32(0, ++this.#made);
    const header = {
      version: 1,
      previousHash: parent?.hash ?? (new Uint8Array(32) as BlockHash),
      merkleRoot: new Uint8Array(32) as MerkleRoot,
      time,
      bits: 0x207f_ffff,
      nonce: this.#made,
    };
    const entry = ChainEntry.detached(this.#made, hash, header, parent, BigInt(this.#made));
    this.entries.set(hash.toHex(), entry);
    return entry;
  }
}

/** Bitcoin Core's defaults. */
const CORE_SPEND_POLICY: SpendPolicy = {
  minFeerate: 1000n,
  discardFeerate: 10_000n,
  consolidateFeerate: 10_000n,
  maxFee: 10_000_000n,
  confirmTarget: 6,
  avoidPartialSpends: false,
  avoidPartialSpendsMaxFee: 0n,
  spendUnconfirmedChange: true,
  rejectLongChains: true,
  chainLimits: { ancestors: 25, descendants: 25 },
  replaceable: true,
  broadcast: true,
};

/** A wallet on a plain chain, in a directory of its own. */
export class WalletFixture implements Disposable {
  readonly dir = mkdtempSync(join(tmpdir(), 'obverse-wallet-'));
  readonly clock = new ManualClock(TIME_0 * 1000);
  readonly ending = new AbortController();
  readonly deps: WalletDeps;
  readonly path = join(this.dir, 'w.db');
  readonly chain = new PlainChain();
  /** MAC key of the node. */
  readonly macKey = crypto.getRandomValues(new Uint8Array(32));
  readonly encrypted = new Set<string>();
  wallet: Wallet;

  constructor(options: Partial<NewWallet> = {}, keypool = 3) {
    const { chain } = this;
    this.deps = {
      params: regtest,
      clock: this.clock,
      log: SILENT,
      keypool,
      addressType: 'bech32',
      changeType: null,
      fees: {
        estimate: () => 1000,
        fallback: 0,
        mempoolMin: 100,
        relayMin: 100,
        incremental: 100,
        dust: 3000,
      },
      spending: CORE_SPEND_POLICY,
      signer: new ExternalSigner({ command: null, chain: 'regtest', signal: this.ending.signal }),
      voucher: {
        key: this.macKey,
        encrypted: {
          has: (name) => this.encrypted.has(name),
          set: (name, encrypted) => void (encrypted ? this.encrypted.add(name) : this.encrypted.delete(name)),
        },
      },
      signal: this.ending.signal,
      chain: {
        get tip() {
          return chain.tip;
        },
        initialSync: false,
        pruneHeight: null,
        loadedHeight: null,
        buildingIndexes: false,
        get: (hash) => chain.entries.get(hash.toHex()) ?? null,
        reads() {
          throw new Error('this chain has no database');
        },
      },
      mempool: {
        has: () => false,
        txids: () => [],
        get: () => null,
        standing: () => null,
        bumpFees: (outpoints) => ({ each: outpoints.map(() => 0n), together: 0n }),
        hasRoom: () => true,
        abandoned: () => {},
        broadcast: () => Promise.reject(new Error('no mempool')),
      },
    };
    const made = { disablePrivateKeys: false, blank: false, avoidReuse: false, ...options };
    this.wallet = Wallet.create(this.path, 'w', made, this.deps);
    this.wallet.createDefaultDescriptors();
  }

  /** A script of the wallet. */
  script(type: 'legacy' | 'p2sh-segwit' | 'bech32' | 'bech32m' = 'bech32'): Uint8Array {
    const parsed = parseAddress(this.wallet.newAddress(type, ''), regtest.address);
    if (!parsed.ok) throw new Error(parsed.error);
    return parsed.script;
  }

  /** Closes the wallet and opens it again, knowing nothing of the mempool. Resolves when its file is checked. */
  reopen(): Promise<void> {
    this.wallet.close();
    this.wallet = Wallet.open(this.path, 'w', this.deps);
    return this.wallet.integrity.check();
  }

  [Symbol.dispose](): void {
    this.ending.abort();
    this.wallet.close();
    rmSync(this.dir, { recursive: true, force: true });
  }
}

export function parsed(tx: Transaction): ParsedTransaction {
  return parseTransaction(transactionBytes(tx));
}

/** The stored wallet names of a new node. */
export function walletMemory(): WalletMemory {
  const known = new Map<string, boolean>();
  return {
    all: () => new Map(known),
    remember: (name, inUse) => void known.set(name, inUse),
    forget: (name) => void known.delete(name),
  };
}
