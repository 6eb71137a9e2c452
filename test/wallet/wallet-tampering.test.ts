import { Database } from 'bun:sqlite';
import { afterAll, beforeAll, describe, expect, test } from 'bun:test';
import { copyFileSync } from 'node:fs';
import { join } from 'node:path';
import { regtest } from '../../src/params/regtest.ts';
import type { Txid } from '../../src/primitives/hash.ts';
import { transactionBytes, transactionFromBytes } from '../../src/primitives/transaction.ts';
import { runSteps } from '../../src/util/slices.ts';
import { addChecksum } from '../../src/wallet/descriptor/checksum.ts';
import { importDescriptors } from '../../src/wallet/import-descriptors.ts';
import { ExtendedPrivateKey, formatExtendedPublicKey } from '../../src/wallet/keys/extended-key.ts';
import { createTransactionSteps } from '../../src/wallet/spend/create-transaction.ts';
import { signRaw } from '../../src/wallet/spend/sign-commands.ts';
import { ORDINARY_SPEND } from '../../src/wallet/spend/spend-request.ts';
import { openMasterKey, sealMasterKey } from '../../src/wallet/vault/sealing.ts';
import { Wallet } from '../../src/wallet/wallet.ts';
import { PlainChainReads } from './plain-chain-reads.ts';
import { parsed, TIME_0, WalletFixture } from './wallet-fixture.ts';

const PASSPHRASE = Buffer.from('a passphrase');
const REFUSED = /(is not loaded: |another structure than a wallet).*restore it from a backup/;
const UNVERIFIED = /not verified on this node: unlock it once/;
const TAMPERED = /fails its integrity check .*Restore it from a backup/;

type Meddle = (db: Database) => void;

/** A wallet whose file others write, and one of theirs, of the same kind. */
class Meddled extends WalletFixture {
  readonly attacker: WalletFixture;

  constructor(options: ConstructorParameters<typeof WalletFixture>[0] = {}, attacker = new WalletFixture(options)) {
    super(options);
    this.attacker = attacker;
    // Addresses are derived later otherwise.
    while (attacker.wallet.filler.fillSome());
  }

  /** Changes a copy of the file and opens that; a rejection is the refusal to load it. */
  async after(meddle: Meddle, name = 'w'): Promise<Wallet> {
    this.wallet.close();
    const path = join(this.dir, `${crypto.randomUUID()}.db`);
    copyFileSync(this.path, path);
    const db = new Database(path);
    db.query('ATTACH DATABASE ? AS theirs').run(this.attacker.path);
    meddle(db);
    db.close();
    this.wallet = Wallet.open(path, name, this.deps);
    await this.wallet.integrity.check();
    return this.wallet;
  }

  /** Returns the error of opening the changed file. */
  async refusalOf(meddle: Meddle): Promise<string> {
    return this.after(meddle).then(
      () => 'loaded',
      (error) => String(error.message),
    );
  }

  override [Symbol.dispose](): void {
    this.attacker[Symbol.dispose]();
    super[Symbol.dispose]();
  }
}

const SOURCE = (internal: boolean) => `active = 'bech32' AND internal = ${Number(internal)}`;

/** The attack of the one who can write the file: his descriptors, with all that is derived from them. */
function replaceSource(internal: boolean, parts: { id?: boolean; scripts?: boolean } = {}): Meddle {
  return (db) => {
    const own = db.query<{ id: number }, []>(`SELECT id FROM descriptors WHERE ${SOURCE(internal)}`).get()!.id;
    const his = db.query<{ id: number }, []>(`SELECT id FROM theirs.descriptors WHERE ${SOURCE(internal)}`).get()!.id;
    db.run(
      `UPDATE descriptors SET (text, normalized) = (SELECT text, normalized FROM theirs.descriptors WHERE id = ${his})
       WHERE id = ${own}`,
    );
    if (parts.id ?? true)
      db.run(`UPDATE descriptors SET key = (SELECT key FROM theirs.descriptors WHERE id = ${his}) WHERE id = ${own}`);
    db.run(`DELETE FROM descriptor_cache WHERE descriptor = ${own}`);
    db.run(
      `INSERT INTO descriptor_cache SELECT ${own}, kind, expression, position, key FROM theirs.descriptor_cache
       WHERE descriptor = ${his}`,
    );
    if (!parts.scripts) return;
    db.run(`DELETE FROM scripts WHERE descriptor = ${own}`);
    db.run(
      `INSERT INTO scripts SELECT script, ${own}, position, solved, used FROM theirs.scripts WHERE descriptor = ${his}`,
    );
  };
}

const run =
  (...statements: string[]): Meddle =>
  (db) => {
    for (const statement of statements) db.run(statement);
  };

const PARENT = `descriptor = (SELECT id FROM descriptors WHERE ${SOURCE(true)}) AND kind = 'parent'`;
const THEIR_PARENT = `(SELECT key FROM theirs.descriptor_cache WHERE kind = 'parent' LIMIT 1)`;

/** Contradictions that show without any key. */
const CONTRADICTIONS: Readonly<Record<string, Meddle>> = {
  'a source of change replaced under its old id': replaceSource(true, { id: false }),
  'a source of addresses replaced under its old id': replaceSource(false, { id: false, scripts: true }),
  'a derived key replaced': run(`UPDATE descriptor_cache SET key = ${THEIR_PARENT} WHERE ${PARENT}`),
  'a derived key for one index added': run(
    `INSERT INTO descriptor_cache SELECT descriptor, 'derived', expression, 7, ${THEIR_PARENT} FROM descriptor_cache WHERE ${PARENT}`,
  ),
  'a normalized text replaced': run(
    `UPDATE descriptors SET normalized = (SELECT normalized FROM theirs.descriptors WHERE ${SOURCE(true)}) WHERE ${SOURCE(true)}`,
  ),
  'an id replaced': run(`UPDATE descriptors SET key = zeroblob(32) WHERE ${SOURCE(true)}`),
  'a text that cannot be read': run(`UPDATE descriptors SET text = 'wpkh(' WHERE ${SOURCE(true)}`),
  'derived keys removed': run(`DELETE FROM descriptor_cache WHERE ${PARENT}`),
  'all derived keys removed': run('DELETE FROM descriptor_cache'),
  'derived keys that are no text': run('UPDATE descriptor_cache SET key = zeroblob(74)'),
  'a range that ends before it begins': run('UPDATE descriptors SET range_end = 0, range_start = 5'),
  'a source of another type': run(`UPDATE descriptors SET active = 'legacy' WHERE ${SOURCE(true)}`),
  'two sources of a type': run(`UPDATE descriptors SET internal = 0 WHERE ${SOURCE(true)}`),
  'a trigger that changes rows later': run(
    `CREATE TRIGGER later AFTER UPDATE OF next_index ON descriptors BEGIN
       UPDATE descriptors SET active = NULL WHERE id = NEW.id; END`,
  ),
  'a view in the place of a table': run(
    'ALTER TABLE scripts RENAME TO others',
    'CREATE VIEW scripts AS SELECT * FROM others',
  ),
  'private keys disabled': run(
    `UPDATE meta SET value = '["disable_private_keys","descriptor_wallet"]' WHERE key = 'flags'`,
  ),
};

/** Changes that contradict nothing but the keys and the MACs. */
const CONSISTENT: Readonly<Record<string, Meddle>> = {
  'a source of change replaced': replaceSource(true),
  'a source of change replaced with its scripts': replaceSource(true, { scripts: true }),
  'a source of addresses replaced with its scripts': replaceSource(false, { scripts: true }),
};

const INVISIBLE_WITHOUT_MAC: Readonly<Record<string, Meddle>> = {
  'a source removed': (db) => {
    const { id } = db.query<{ id: number }, []>(`SELECT id FROM descriptors WHERE ${SOURCE(true)}`).get()!;
    for (const [table, column] of [
      ['descriptors', 'id'],
      ['descriptor_cache', 'descriptor'],
      ['scripts', 'descriptor'],
    ])
      db.run(`DELETE FROM ${table} WHERE ${column} = ${id}`);
  },
  'change and addresses swapped': run(
    "UPDATE descriptors SET internal = internal + 2 WHERE active = 'bech32'",
    "UPDATE descriptors SET internal = 3 - internal WHERE active = 'bech32'",
  ),
  'a source switched off': run(`UPDATE descriptors SET active = NULL, internal = NULL WHERE ${SOURCE(true)}`),
  'a range shrunk': run(`UPDATE descriptors SET next_index = 0, range_end = 3, filled = 3 WHERE ${SOURCE(false)}`),
  'a script added': run(
    `INSERT INTO scripts SELECT script, (SELECT id FROM descriptors WHERE ${SOURCE(false)}), position, solved, used
     FROM theirs.scripts LIMIT 1`,
  ),
  'a script removed': run('DELETE FROM scripts WHERE position = 1'),
  'a label swapped': run("UPDATE address_book SET label = 'another customer'"),
  'an entry of the book removed': run('DELETE FROM address_book'),
  'a request removed': run('DELETE FROM requests'),
  'a lock removed': run('DELETE FROM locked'),
  'a sealed key removed': run('DELETE FROM keys WHERE id = (SELECT id FROM keys LIMIT 1)'),
  'a flag changed': run("UPDATE meta SET value = '[]' WHERE key = 'flags'"),
};

/** An output to the script, of an input that is not the wallet's. */
function paymentTo(scriptPubKey: Uint8Array): Uint8Array {
  const prevout = { txid: new Uint8Array(32).fill(3) as Txid, vout: 0 };
  return transactionBytes({
    version: 2,
    locktime: 0,
    inputs: [{ prevout, scriptSig: new Uint8Array(0), sequence: 0, witness: [] }],
    outputs: [{ value: 100_000n, scriptPubKey }],
  });
}

const FOREIGN = Uint8Array.of(0x51);
/** The output that the payment spends. */
const SPENT = { value: 200_000n, scriptPubKey: Uint8Array.of(0x52) };

function refusals(wallet: Wallet) {
  const refusalOf = (work: () => unknown) => {
    try {
      work();
      return 'done';
    } catch (error) {
      return String((error as Error).message);
    }
  };
  return {
    address: refusalOf(() => wallet.newAddress('bech32', '')),
    change: refusalOf(() => wallet.newChangeAddress('bech32')),
    signature: refusalOf(() => runSteps(signRaw(wallet, paymentTo(FOREIGN), [SPENT], [], 1))),
  };
}

describe('an encrypted wallet file', () => {
  let it: Meddled;

  beforeAll(async () => {
    it = new Meddled();
    const { wallet } = it;
    wallet.newAddress('bech32', 'a customer');
    await wallet.encrypt(PASSPHRASE);
    wallet.newAddress('bech32', 'another one');
    wallet.store.write(() => {
      wallet.store.requests.addRequest('id', '00'.repeat(32), new Uint8Array(32), TIME_0);
      wallet.store.lock({ txid: new Uint8Array(32) as Txid, vout: 1 }, true);
    });
    // Locked: what it derives now only the node can vouch for.
    for (const { filler } of [wallet, it.attacker.wallet]) while (filler.fillSome());
  });
  afterAll(() => it[Symbol.dispose]());

  test('an unchanged wallet gives addresses while locked, and signs when unlocked', async () => {
    const wallet = await it.after(() => {});
    expect(wallet.integrity.state).toBe('sound');
    expect(wallet.integrity.warnings).toEqual([]);
    expect(refusals(wallet)).toEqual({
      address: 'done',
      change: 'done',
      signature: 'Error: Please enter the wallet passphrase with walletpassphrase first.',
    });
    expect(await wallet.unlock(PASSPHRASE, 60)).toBe(true);
    expect(refusals(wallet)).toEqual({ address: 'done', change: 'done', signature: 'done' });
  });

  test.each(Object.entries(CONTRADICTIONS))('a wallet is not loaded with %s', async (_, meddle) => {
    expect(await it.refusalOf(meddle)).toMatch(REFUSED);
  });

  test.each([...Object.entries(CONSISTENT), ...Object.entries(INVISIBLE_WITHOUT_MAC)])(
    'a wallet gives no address with %s',
    async (_, meddle) => {
      const wallet = await it.after(meddle);
      expect(wallet.integrity.state).toBe('tampered');
      expect(wallet.integrity.warnings[0]).toMatch(TAMPERED);
      const { address, change } = refusals(wallet);
      expect(address).toMatch(TAMPERED);
      expect(change).toMatch(TAMPERED);
    },
  );

  test('a wallet with an unreadable MAC gives no address', async () => {
    for (const value of ["'{'", "'{}'", 'zeroblob(10)', "'null'", `'{"key":"x","nonce":"00","sum":"00"}'`]) {
      const wallet = await it.after(run(`UPDATE meta SET value = ${value} WHERE key = 'nodeMac'`));
      expect(wallet.integrity.state).toBe('tampered');
    }
  });

  test('a changed wallet signs nothing after it is unlocked, but still shows its private keys', async () => {
    const wallet = await it.after(CONSISTENT['a source of change replaced']!);
    expect(await wallet.unlock(PASSPHRASE, 60)).toBe(true);
    expect(refusals(wallet).signature).toMatch(TAMPERED);
    expect(wallet.vault.provider().privateKey(wallet.store.keys.keys()[0]!.id)).not.toBeNull();
  });

  test('a wallet without the MAC of the node gives no address, not even after it is unlocked', async () => {
    const wallet = await it.after(run("DELETE FROM meta WHERE key = 'nodeMac'"));
    expect(wallet.integrity.state).toBe('unverified');
    expect(refusals(wallet).address).toMatch(UNVERIFIED);
    expect(await wallet.unlock(PASSPHRASE, 60)).toBe(true);
    expect(wallet.integrity.warnings[0]).toContain('its MAC of this node was removed');
    expect(refusals(wallet).address).toMatch(TAMPERED);
  });

  test.each([
    ['both MACs', "DELETE FROM meta WHERE key IN ('nodeMac', 'masterMac')"],
    ['all traces of MACs', "DELETE FROM meta WHERE key IN ('nodeMac', 'masterMac', 'vouchedBy')"],
  ])('a wallet without %s signs nothing', async (_, statement) => {
    const wallet = await it.after(run(statement, "UPDATE meta SET value = 1 WHERE key = 'schema'"));
    expect(refusals(wallet).address).toMatch(UNVERIFIED);
    expect(await wallet.unlock(PASSPHRASE, 60)).toBe(true);
    expect(refusals(wallet).signature).toMatch(TAMPERED);
  });

  test('a wallet whose encryption claims to have no MACs does not open', async () => {
    const wallet = await it.after(
      run(
        "DELETE FROM meta WHERE key IN ('nodeMac', 'masterMac', 'vouchedBy')",
        "UPDATE meta SET value = json_remove(value, '$.integrity') WHERE key = 'encryption'",
      ),
    );
    expect(await wallet.unlock(PASSPHRASE, 60)).toBe(false);
  });

  test('a wallet is not loaded if its file is no longer encrypted', async () => {
    const watching = run(
      "DELETE FROM meta WHERE key IN ('encryption', 'nodeMac', 'masterMac', 'vouchedBy')",
      'DELETE FROM keys',
      `UPDATE meta SET value = '["disable_private_keys","descriptor_wallet"]' WHERE key = 'flags'`,
    );
    expect(await it.refusalOf(watching)).toMatch(/not encrypted.*restore it from a backup/);
    it.wallet.close();
    expect(() => Wallet.open(it.attacker.path, 'w', it.deps)).toThrow(/not encrypted/);
  });

  test('a wallet that is locked during its check does not count as changed', async () => {
    const wallet = await it.after(() => {});
    const checking = new Promise((resolve) => {
      const { checkMaster } = wallet.store.seals;
      wallet.store.seals.checkMaster = function (signal) {
        const state = checkMaster.call(this, signal);
        wallet.lock();
        void state.then(resolve);
        return state;
      };
    });
    expect(await wallet.unlock(PASSPHRASE, 60)).toBe(true);
    expect(await checking).toBe('interrupted');
    expect(wallet.integrity.state).toBe('sound');
    expect(wallet.vault.locked).toBe(true);
  });

  describe('a wallet file on another node', () => {
    const onAnotherNode = () => {
      const deps = { ...it.deps, voucher: { key: new Uint8Array(32).fill(9), encrypted: new Set<string>() } };
      const names = deps.voucher.encrypted;
      return {
        ...deps,
        voucher: {
          key: deps.voucher.key,
          encrypted: { has: (name: string) => names.has(name), set: (name: string) => void names.add(name) },
        },
      };
    };
    const openThere = async (meddle: Meddle) => {
      await it.after(meddle);
      const { path } = it.wallet.store;
      it.wallet.close();
      const deps = onAnotherNode();
      it.wallet = Wallet.open(path, 'w', deps);
      await it.wallet.integrity.check();
      return { wallet: it.wallet, deps };
    };
    const settled = async (wallet: Wallet, state: string) => {
      for (let i = 0; i < 1000 && wallet.integrity.state !== state; i++) await Bun.sleep(5);
      expect(wallet.integrity.state).toBe(state as never);
    };

    test('a moved wallet gives addresses once it was unlocked there, then also while locked', async () => {
      const { wallet, deps } = await openThere(() => {});
      expect(wallet.integrity.state).toBe('unverified');
      expect(refusals(wallet)).toMatchObject({
        address: expect.stringMatching(UNVERIFIED),
        change: expect.stringMatching(UNVERIFIED),
      });
      expect(await wallet.unlock(PASSPHRASE, 60)).toBe(true);
      expect(refusals(wallet)).toEqual({ address: 'done', change: 'done', signature: 'done' });
      while (!deps.voucher.encrypted.has('w')) await Bun.sleep(5);
      wallet.close();
      it.wallet = Wallet.open(wallet.store.path, 'w', deps);
      await it.wallet.integrity.check();
      expect(it.wallet.integrity.state).toBe('sound');
      // Under another name it may be another wallet.
      it.wallet.close();
      it.wallet = Wallet.open(wallet.store.path, 'x', deps);
      await it.wallet.integrity.check();
      expect(it.wallet.integrity.state).toBe('unverified');
    });

    test.each(['a source of change replaced', 'a source of addresses replaced with its scripts'])(
      'signs nothing with %s',
      async (name) => {
        const { wallet } = await openThere(CONSISTENT[name]!);
        expect(await wallet.unlock(PASSPHRASE, 60)).toBe(true);
        expect(refusals(wallet).signature).toMatch(TAMPERED);
      },
    );

    test.each(['a script added', 'a script removed'])('notices %s when it was unlocked', async (name) => {
      const { wallet } = await openThere(INVISIBLE_WITHOUT_MAC[name]!);
      expect(await wallet.unlock(PASSPHRASE, 60)).toBe(true);
      await settled(wallet, 'tampered');
    });
  });

  describe('a wallet of an earlier version without MACs', () => {
    let earlier: Meddle;

    beforeAll(async () => {
      const wallet = await it.after(() => {});
      const encryption = wallet.store.meta('encryption')!;
      const masterKey = (await openMasterKey(encryption, PASSPHRASE, ''))!;
      const cost = { cost: 2048, blockSize: 8, parallel: 1 };
      const old = JSON.stringify(await sealMasterKey(masterKey, PASSPHRASE, { cost, caller: '', integrity: false }));
      earlier = (db) => {
        db.run("DELETE FROM meta WHERE key IN ('nodeMac', 'masterMac', 'vouchedBy')");
        db.run("UPDATE meta SET value = 1 WHERE key = 'schema'");
        db.query("UPDATE meta SET value = ? WHERE key = 'encryption'").run(old);
      };
      it.encrypted.clear();
    });

    test('a wallet without MACs is trusted when it is unlocked for the first time', async () => {
      let wallet = await it.after(earlier);
      expect(refusals(wallet).address).toMatch(UNVERIFIED);
      expect(await wallet.unlock(PASSPHRASE, 60)).toBe(true);
      expect(refusals(wallet)).toEqual({ address: 'done', change: 'done', signature: 'done' });
      while (!it.encrypted.has('w')) await Bun.sleep(5);
      wallet.close();
      wallet = it.wallet = Wallet.open(wallet.store.path, 'w', it.deps);
      await wallet.integrity.check();
      expect(wallet.integrity.state).toBe('sound');
      expect(await wallet.unlock(PASSPHRASE, 60)).toBe(true);
      expect(refusals(wallet).signature).toBe('done');
    });

    test('a wallet without MACs signs nothing if its descriptors do not match its keys', async () => {
      const wallet = await it.after((db) => {
        earlier(db);
        CONSISTENT['a source of change replaced with its scripts']!(db);
      });
      expect(await wallet.unlock(PASSPHRASE, 60)).toBe(true);
      expect(wallet.integrity.warnings[0]).toContain('the wallet has no private key of it');
      expect(refusals(wallet).signature).toMatch(TAMPERED);
    });
  });
});

describe('an unencrypted wallet file', () => {
  test('an unchanged unencrypted wallet is verified when it is loaded', async () => {
    using it = new Meddled();
    const wallet = await it.after(() => {});
    expect(refusals(wallet)).toEqual({ address: 'done', change: 'done', signature: 'done' });
  });

  test.each(Object.entries(CONTRADICTIONS))('an unencrypted wallet is not loaded with %s', async (_, meddle) => {
    using it = new Meddled();
    expect(await it.refusalOf(meddle)).toMatch(REFUSED);
  });

  test.each(Object.entries(CONSISTENT))(
    'an unencrypted wallet gives no address and signs nothing with %s',
    async (_, meddle) => {
      using it = new Meddled();
      const wallet = await it.after(meddle);
      expect(wallet.integrity.state).toBe('tampered');
      for (const refusal of Object.values(refusals(wallet))) expect(refusal).toMatch(TAMPERED);
      await expect(wallet.encrypt(PASSPHRASE)).rejects.toThrow(TAMPERED);
    },
  );

  test('a wallet signs nothing for an output that is marked as its own but has none of its keys', async () => {
    using it = new Meddled();
    const { wallet } = it;
    const script = it.attacker.script();
    expect(runSteps(signRaw(wallet, paymentTo(script), [SPENT], [], 1)).errors).toEqual([]);
    wallet.store.write(() =>
      wallet.store.keys.addScript(script, wallet.scripts.activeDescriptor('bech32', true)!.id, 0),
    );
    wallet.scripts.filter.add(script);
    expect(() => runSteps(signRaw(wallet, paymentTo(script), [SPENT], [], 1))).toThrow(TAMPERED);
    expect(wallet.integrity.warnings[0]).toContain(script.toHex());
  });
});

test('a wallet builds no payment from coins whose amounts are not those of their transactions', async () => {
  using it = new Meddled();
  const raw = parsed(transactionFromBytes(paymentTo(it.script())));
  const entry = it.chain.make(it.chain.tip, [raw]);
  it.chain.tip = entry;
  const bodies = [it.chain.bodies.get(entry)!];
  it.wallet.sync.onChainMoved({ disconnected: [], connected: [entry], bodies, tip: entry });
  const pay = (wallet: Wallet) =>
    runSteps(
      createTransactionSteps(wallet, {
        ...ORDINARY_SPEND,
        recipients: [{ scriptPubKey: FOREIGN, value: 20_000n, subtractFee: false }],
        fee: { feerate: 1000n, overrideLimits: false, target: null, mode: 'unset' },
      }),
    );
  expect(pay(it.wallet)).toMatchObject({ ok: true });
  // The rest would go to miners.
  const wallet = await it.after(run('UPDATE coins SET value = value / 2'));
  expect(pay(wallet)).toEqual({ ok: false, error: expect.stringMatching(TAMPERED) });
  const other = await it.after(run(`UPDATE txs SET raw = x'${paymentTo(FOREIGN).toHex()}'`));
  expect(() => pay(other)).toThrow(TAMPERED);
});

describe('a watch-only wallet file', () => {
  const watching = () => {
    const fixture = new WalletFixture({ disablePrivateKeys: true });
    const index = new PlainChainReads(fixture.chain);
    fixture.deps.chain.reads = () => index.reads;
    return fixture;
  };
  const importXpub = async ({ wallet }: WalletFixture, seed: number) => {
    const master = ExtendedPrivateKey.fromSeed(new Uint8Array(32).fill(seed));
    const xpub = formatExtendedPublicKey(master.neuter(), regtest.bip32);
    const outcomes = await importDescriptors(
      wallet,
      [0, 1].map((side) => ({
        timestamp: 'now',
        desc: addChecksum(`wpkh(${xpub}/${side}/*)`),
        active: true,
        internal: side === 1,
      })),
    );
    expect(outcomes.map(({ error }) => error)).toEqual([null, null]);
  };

  test.each(Object.entries(CONTRADICTIONS).filter(([name]) => name !== 'private keys disabled'))(
    'a watch-only wallet is not loaded with %s',
    async (_, meddle) => {
      using it = new Meddled({ disablePrivateKeys: true }, watching());
      const index = new PlainChainReads(it.chain);
      it.deps.chain.reads = () => index.reads;
      await importXpub(it, 1);
      await importXpub(it.attacker, 2);
      expect(await it.refusalOf(meddle)).toMatch(REFUSED);
    },
  );
});

describe('a multisig wallet file', () => {
  const keyOf = (seed: number) => ExtendedPrivateKey.fromSeed(new Uint8Array(32).fill(seed));
  const priv = (seed: number) => keyOf(seed).revealText(regtest.bip32);
  const pub = (seed: number) => formatExtendedPublicKey(keyOf(seed).neuter(), regtest.bip32);

  const twoOf = async (fixture: WalletFixture, first: string, second: string) => {
    const index = new PlainChainReads(fixture.chain);
    fixture.deps.chain.reads = () => index.reads;
    const requests = [0, 1].map((side) => ({
      timestamp: 'now' as const,
      desc: addChecksum(`wsh(sortedmulti(2,${first}/48h/1h/${side}/*,${second}/${side}/*))`),
      active: true,
      internal: side === 1,
    }));
    const outcomes = await importDescriptors(fixture.wallet, requests);
    expect(outcomes.map(({ error }) => error)).toEqual([null, null]);
  };

  test('a multisig wallet signs if one key of an output is its own, and not otherwise', async () => {
    using it = new Meddled({ blank: true });
    await twoOf(it, priv(1), pub(2));
    await twoOf(it.attacker, priv(3), pub(2));
    const { script } = it.wallet.newChangeAddress('bech32');
    expect(runSteps(signRaw(it.wallet, paymentTo(script), [SPENT], [], 1)).errors).toEqual([]);
    const wallet = await it.after(replaceSource(true, { scripts: true }));
    expect(wallet.integrity.warnings[0]).toContain('the wallet has no private key of it');
    for (const refusal of Object.values(refusals(wallet))) expect(refusal).toMatch(TAMPERED);
  });

  test('an encrypted multisig wallet detects the replaced key of a cosigner', async () => {
    using it = new Meddled({ blank: true });
    await twoOf(it, priv(1), pub(2));
    // With our key in it, and another cosigner.
    await twoOf(it.attacker, priv(1), pub(3));
    await it.wallet.encrypt(PASSPHRASE);
    const wallet = await it.after((db) => {
      replaceSource(true, { scripts: true })(db);
      db.run("DELETE FROM meta WHERE key = 'nodeMac'");
    });
    expect(refusals(wallet).change).toMatch(UNVERIFIED);
    expect(await wallet.unlock(PASSPHRASE, 60)).toBe(true);
    for (const refusal of Object.values(refusals(wallet))) expect(refusal).toMatch(TAMPERED);
  });
});
