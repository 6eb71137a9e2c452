import { Database } from 'bun:sqlite';
import { describe, expect, test } from 'bun:test';
import { copyFileSync, existsSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import fc from 'fast-check';
import { regtest } from '../../src/params/regtest.ts';
import type { ParsedTransaction } from '../../src/primitives/block.ts';
import type { Txid } from '../../src/primitives/hash.ts';
import { lockCoins } from '../../src/wallet/coin-locks.ts';
import { addChecksum } from '../../src/wallet/descriptor/checksum.ts';
import { createDescriptor } from '../../src/wallet/descriptor-commands.ts';
import { addHdKey } from '../../src/wallet/hd-keys.ts';
import { importDescriptors } from '../../src/wallet/import-descriptors.ts';
import { ExtendedPrivateKey } from '../../src/wallet/keys/extended-key.ts';
import { RowMac, RowSum } from '../../src/wallet/store/row-mac.ts';
import { WalletSeals } from '../../src/wallet/store/wallet-seals.ts';
import { openMasterKey } from '../../src/wallet/vault/sealing.ts';
import type { Wallet } from '../../src/wallet/wallet.ts';
import { PlainChainReads } from './plain-chain-reads.ts';
import { parsed, WalletFixture } from './wallet-fixture.ts';

const PASSPHRASE = Buffer.from('a passphrase');
const never = new AbortController().signal;

function pay(seed: number, script: Uint8Array): ParsedTransaction {
  const prevout = { txid: new Uint8Array(32).fill(0xee) as Txid, vout: seed };
  const input = { prevout, scriptSig: new Uint8Array(0), sequence: 0, witness: [] };
  return parsed({ version: 2, locktime: 0, inputs: [input], outputs: [{ value: 700n, scriptPubKey: script }] });
}

class Fixture extends WalletFixture {
  masterKey: Uint8Array | null = null;

  constructor() {
    super({}, 20);
    const index = new PlainChainReads(this.chain);
    this.deps.chain.reads = () => index.reads;
  }

  connect(...txs: ParsedTransaction[]): void {
    const entry = this.chain.make(this.chain.tip, txs);
    this.chain.tip = entry;
    const bodies = [this.chain.bodies.get(entry)!];
    this.wallet.sync.onChainMoved({ disconnected: [], connected: [entry], bodies, tip: entry });
  }

  /** Copies the file as a kill at this moment would leave it. */
  copyAsKilled(): string {
    const copy = join(this.dir, `${crypto.randomUUID()}.db`);
    for (const suffix of ['', '-wal'])
      if (existsSync(`${this.path}${suffix}`)) copyFileSync(`${this.path}${suffix}`, `${copy}${suffix}`);
    return copy;
  }

  /** The state of both MACs in such a copy. */
  async statesOf(copy: string): Promise<{ node: string; master: string }> {
    const db = new Database(copy);
    const seals = new WalletSeals(db, copy);
    try {
      seals.follow(this.macKey, 'w');
      seals.useMasterKey(this.masterKey);
      return { node: await seals.checkNode(never), master: await seals.checkMaster(never) };
    } finally {
      seals.close();
      db.close();
      for (const suffix of ['', '-wal', '-shm']) rmSync(`${copy}${suffix}`, { force: true });
    }
  }
}

describe('the MACs of an encrypted wallet', () => {
  test('the MACs match the rows after every kind of transaction', async () => {
    using it = new Fixture();
    const { wallet } = it;
    const first = it.script();
    await wallet.encrypt(PASSPHRASE);
    it.masterKey = await openMasterKey(wallet.store.meta('encryption')!, PASSPHRASE, '');
    const states: string[] = [];
    /** Checks copies of the file, each made right behind a commit. */
    const after = async (step: string, work: (on: Wallet) => unknown) => {
      const { store } = it.wallet;
      const write = store.write.bind(store);
      const copies: string[] = [];
      store.write = (inner) => {
        const result = write(inner);
        if (copies.length < 25) copies.push(it.copyAsKilled());
        return result;
      };
      await work(it.wallet);
      store.write = write;
      expect(copies, step).not.toEqual([]);
      states.push(step);
      for (const copy of [...copies, it.copyAsKilled()])
        expect({ step, ...(await it.statesOf(copy)) }).toEqual({ step, node: 'valid', master: 'valid' });
    };
    await after('a locked wallet gives addresses', (on) => {
      on.newAddress('bech32', 'first');
      on.newChangeAddress('bech32m');
    });
    await after('a locked wallet derives ahead', (on) => {
      while (on.filler.fillSome());
    });
    await after('a locked wallet is paid', () => it.connect(pay(1, first), pay(2, it.script('legacy'))));
    await after('a label', (on) => on.store.write(() => on.store.setLabel(first, 'an address', 'a label', null)));
    await after('coins are locked', (on) => lockCoins(on, false, [{ txid: pay(1, first).txid, vout: 0 }], true));
    await after('coins are unlocked', (on) => lockCoins(on, true, null, false));
    await after('a flag', (on) => on.setFlag('avoid_reuse', true));
    await after('another passphrase', (on) => on.vault.changePassphrase(PASSPHRASE, Buffer.from('another')));
    await after('unlocked', (on) => on.unlock(Buffer.from('another'), 60));
    await after('a key is added', (on) => addHdKey(on, null));
    await after('descriptors are imported', async (on) => {
      const xprv = ExtendedPrivateKey.fromSeed(new Uint8Array(32).fill(5)).revealText(regtest.bip32);
      const requests = [`wpkh(${xprv}/1h/2/*h)`, `tr(${xprv}/3h/*)`, `pkh(${xprv}/4/5)`].map((text) => ({
        timestamp: 'now' as const,
        desc: addChecksum(text),
        ...(text.includes('*') && { range: 30 }),
        ...(text.startsWith('tr') && { active: true }),
      }));
      const outcomes = await importDescriptors(on, requests);
      expect(outcomes.map(({ error }) => error)).toEqual([null, null, null]);
    });
    await after('a source is added', (on) => {
      const [descriptor] = on.scripts.descriptors().filter(({ descriptor }) => !descriptor.hasScripts);
      const [xpub] = /tpub\w+/.exec(descriptor!.record.text)!;
      createDescriptor(on, 'bech32', true, xpub);
    });
    await after('the keypool', (on) => on.refillKeypool(40, never));
    await after('a request', (on) =>
      on.store.write(() => on.store.requests.addRequest('id', '00'.repeat(32), new Uint8Array(32), 7)),
    );
    await after('a write that fails half-way', (on) => {
      expect(() =>
        on.store.write(() => {
          on.newAddress('bech32', 'never given out');
          throw new Error('the disk is full');
        }),
      ).toThrow('the disk is full');
      on.newAddress('bech32', 'given out');
    });
    it.wallet.lock();
    await it.reopen();
    expect(it.wallet.integrity.state).toBe('sound');
    await after('locked again', (on) => on.newAddress('bech32', ''));
    expect(states).toHaveLength(16);
  }, 180_000);

  test('the MACs of a locked wallet do not let keys and descriptors change', async () => {
    using it = new Fixture();
    await it.wallet.encrypt(PASSPHRASE);
    const { store, scripts } = it.wallet;
    const source = scripts.activeDescriptor('bech32', false)!;
    expect(() => store.write(() => scripts.deactivate(source))).toThrow('of a locked wallet cannot be changed');
    expect(scripts.activeDescriptor('bech32', false)).not.toBeNull();
  }, 180_000);
});

test('a MAC of rows depends only on their set, and detects each change of it', () => {
  const rows = fc.uniqueArray(fc.string({ unit: 'binary', maxLength: 80 }), { minLength: 1, maxLength: 20 });
  fc.assert(
    fc.property(rows, fc.nat(), fc.string({ maxLength: 10 }), (list, seed, other) => {
      const mac = new RowMac(new Uint8Array(32).fill(1), 'test');
      const sumOf = (all: readonly string[]) => {
        const sum = new RowSum();
        for (const row of all) mac.add(sum, row);
        return sum;
      };
      const stored = mac.conceal(sumOf(list));
      expect(mac.conceal(sumOf(list)).sum).not.toBe(stored.sum);
      const expected = sumOf(list.toReversed()).bytes();
      expect(mac.reveal(stored).bytes()).toEqual(expected);
      // Changed row by row, it is that of the rows that are left.
      const at = seed % list.length;
      const changed = mac.reveal(stored);
      mac.add(changed, list[at]!, -1);
      expect(changed.bytes()).not.toEqual(expected);
      mac.add(changed, other);
      expect(changed.bytes()).toEqual(sumOf(list.with(at, other)).bytes());
      expect(new RowMac(new Uint8Array(32).fill(1), 'else').reveal(stored).bytes()).not.toEqual(expected);
    }),
    { numRuns: 100 },
  );
});
