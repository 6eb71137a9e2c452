import { afterAll, expect, test } from 'bun:test';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { regtest } from '../../../src/params/regtest.ts';
import type { Txid } from '../../../src/primitives/hash.ts';
import { addressOf } from '../../../src/script/address.ts';
import { p2pkh } from '../../../src/script/templates.ts';
import { runSteps } from '../../../src/util/slices.ts';
import { createWallet } from '../../../src/wallet/create-wallet.ts';
import { encodePsbtBase64 } from '../../../src/wallet/psbt/encode.ts';
import { createPsbt, type Psbt } from '../../../src/wallet/psbt/psbt.ts';
import { displayAddress } from '../../../src/wallet/signer/display-address.ts';
import { signerDescriptors } from '../../../src/wallet/signer/signer-descriptors.ts';
import { fillAndSign, fillPsbtSteps } from '../../../src/wallet/spend/fill-psbt.ts';
import { sendMoney } from '../../../src/wallet/spend/send.ts';
import { ORDINARY_SPEND } from '../../../src/wallet/spend/spend-request.ts';
import type { Wallet } from '../../../src/wallet/wallet.ts';
import { WalletManager } from '../../../src/wallet/wallet-manager.ts';
import type { WalletDeps } from '../../../src/wallet/wallet-options.ts';
import { parsed, WalletFixture, walletMemory } from '../wallet-fixture.ts';
import { SignerProgram } from './signer-program.ts';

const directories: string[] = [];
afterAll(() => {
  for (const directory of directories) rmSync(directory, { recursive: true, force: true });
});

function tempDir(): string {
  const directory = mkdtempSync(join(tmpdir(), 'obverse-external-'));
  directories.push(directory);
  return directory;
}

/** A device: a wallet with keys that answers for a program, and a wallet without keys that uses this program. */
class Device extends WalletFixture {
  readonly program = new SignerProgram();
  readonly watching: WalletDeps = { ...this.deps, signer: this.program.signer() };

  constructor() {
    super();
    const texts = (internal: boolean) =>
      this.wallet.scripts
        .descriptors()
        .filter(({ record }) => record.internal === internal)
        .map(({ record }) => record.normalized);
    this.program.answer('getdescriptors', { receive: texts(false), internal: texts(true) });
    this.connect(texts(false)[0]!);
  }

  /** Lists the device with the fingerprint of the origin in a descriptor. */
  connect(descriptor: string): void {
    const [, fingerprint] = /\[([0-9a-f]{8})/.exec(descriptor)!;
    this.program.answer('enumerate', [{ fingerprint, model: 'device' }]);
  }

  async watchOnly(): Promise<Wallet> {
    const options = { disablePrivateKeys: true, blank: true, avoidReuse: false, externalSigner: true };
    const added = await signerDescriptors(this.watching.signer, regtest);
    const wallet = createWallet(join(tempDir(), 'cold.db'), 'cold', options, this.watching, added);
    // As after the start of a wallet.
    await wallet.filler.fillReserved(wallet.signal);
    return wallet;
  }

  override [Symbol.dispose](): void {
    this.program[Symbol.dispose]();
    super[Symbol.dispose]();
  }
}

/** Pays a script of the wallet; returns a PSBT that spends the coin. */
function spendOf(wallet: Wallet, script: Uint8Array): Psbt {
  const first = { txid: new Uint8Array(32).fill(7) as Txid, vout: 0 };
  const input = { prevout: first, scriptSig: new Uint8Array(0), sequence: 0, witness: [] };
  const outputs = [{ value: 5000n, scriptPubKey: script }];
  const paid = parsed({ version: 2, locktime: 0, inputs: [input], outputs });
  wallet.store.write(() => wallet.ledger.addTransaction(paid, { in: 'mempool' }));
  const spent = { ...input, prevout: { txid: paid.txid, vout: 0 } };
  const spend = { value: 4000n, scriptPubKey: p2pkh(new Uint8Array(20)) };
  return createPsbt({ version: 2, locktime: 0, inputs: [spent], outputs: [spend] }, 2);
}

test('a wallet of an external signer has the addresses of the device, and no private keys', async () => {
  using device = new Device();
  const cold = await device.watchOnly();
  for (const type of ['legacy', 'p2sh-segwit', 'bech32', 'bech32m'] as const)
    expect(cold.newAddress(type, '')).toBe(device.wallet.newAddress(type, ''));
  expect(cold.newChangeAddress('bech32m')).toEqual(device.wallet.newChangeAddress('bech32m'));
  expect(cold.store.meta('flags')).toEqual([
    'last_hardened_xpub_cached',
    'disable_private_keys',
    'descriptor_wallet',
    'external_signer',
  ]);
  cold.close();
});

test.each(['legacy', 'p2sh-segwit', 'bech32', 'bech32m'] as const)(
  'a spend of a %s coin is signed by the device, and its signature is verified',
  async (type) => {
    using device = new Device();
    const cold = await device.watchOnly();
    const script = device.script(type);
    const psbt = spendOf(cold, script);
    const requested = runSteps(fillPsbtSteps(cold, psbt, { sign: false, derivations: true }));
    expect(requested.complete).toBe(false);
    const signed = runSteps(fillPsbtSteps(device.wallet, requested.psbt, { sign: true, derivations: true }));
    device.program.answer('sign', { psbt: encodePsbtBase64(signed.psbt) });
    const filled = await fillAndSign(cold, psbt, { sign: true, derivations: true });
    expect(filled.complete).toBe(true);
    expect(device.program.input).toBe(`signtx ${encodePsbtBase64(requested.psbt)}`);
    // A device that returns what it has received has not signed.
    device.program.answer('sign', { psbt: encodePsbtBase64(requested.psbt) });
    expect((await fillAndSign(cold, psbt, { sign: true, derivations: true })).complete).toBe(false);
    cold.close();
  },
);

test('a device that fails, is missing or has other keys leaves the transaction unsigned', async () => {
  using device = new Device();
  const cold = await device.watchOnly();
  const psbt = spendOf(cold, device.script());
  const sign = () => fillAndSign(cold, psbt, { sign: true, derivations: true });
  for (const answer of [{ error: 'cancelled' }, {}, { psbt: 'AAAA' }]) {
    device.program.answer('sign', answer);
    await expect(sign()).rejects.toThrow('External signer failed to sign');
  }
  device.program.answer('enumerate', [{ fingerprint: 'ffffffff' }]);
  await expect(sign()).rejects.toThrow('External signer failed to sign');
  device.program.answer('enumerate', []);
  await expect(sign()).rejects.toThrow('External signer not found');
  cold.close();
});

test('sendtoaddress is refused with the advice to use send', async () => {
  using device = new Device();
  const cold = await device.watchOnly();
  const recipients = [{ scriptPubKey: device.script(), value: 1000n, subtractFee: false }];
  const fee = { feerate: 1000n, overrideLimits: false, target: null, mode: 'unset' } as const;
  const notes = { comment: null, commentTo: null, requestId: null };
  await expect(sendMoney(cold, { ...ORDINARY_SPEND, recipients, fee }, notes)).rejects.toThrow(
    'sendtoaddress and sendmany are not supported for wallets with external signers; use send instead',
  );
  cold.close();
});

test('an address is displayed by its descriptor, and the device must show the same', async () => {
  using device = new Device();
  const cold = await device.watchOnly();
  const script = device.script('bech32');
  device.program.answer('displayaddress', { address: addressOf(script, regtest.address) });
  await displayAddress(cold, script);
  expect(device.program.args.at(-1)).toBe(cold.store.write(() => cold.scripts.solvedText(script))!);
  device.program.answer('displayaddress', { address: 'another' });
  await expect(displayAddress(cold, script)).rejects.toThrow('Signer echoed unexpected address another');
  const unknown = 'There is no ScriptPubKeyManager for this address';
  await expect(displayAddress(cold, p2pkh(new Uint8Array(20)))).rejects.toThrow(unknown);
  // A wallet with keys of its own asks no device.
  await expect(displayAddress(device.wallet, script)).rejects.toThrow(unknown);
  cold.close();
});

test('no wallet is created with private keys, or without usable descriptors of the signer', async () => {
  using device = new Device();
  const dir = tempDir();
  const options = { dir: join(dir, 'wallets'), backupDir: join(dir, 'backups'), autocreate: false, max: 10 };
  const manager = new WalletManager({ ...options, passphrase: () => null, known: walletMemory() }, device.watching);
  manager.open();
  const created = { blank: false, avoidReuse: false, passphrase: new Uint8Array(0), externalSigner: true };
  const create = (disablePrivateKeys: boolean) => manager.createWallet('w', { ...created, disablePrivateKeys }, null);
  await expect(create(false)).rejects.toThrow('Private keys must be disabled when using an external signer');
  const key =
    'tprv8ZgxMBicQKsPd7Uf69XL1XwhmjHopUGep8GuEiJDZmbQz6o58LninorQAfcKZWARbtRtfnLcJ5MQ2AtHcQJCCRUcMRvmDUjyEmNUWwx8UbK';
  for (const [receive, reason] of [
    ['wpkh(nothing)', 'Invalid descriptor "wpkh(nothing)"'],
    [`wpkh(${key}/*)`, 'Invalid descriptor "wpkh(tprv…/*)" (it contains private keys)'],
    [`wpkh(${'0'.repeat(10_000)})`, 'it has 10006 characters; at most 10000 are allowed'],
    ['addr(bcrt1qw508d6qejxtdg4y5r3zarvary0c5xw7kygt080)', 'it has no range of addresses'],
  ] as const) {
    device.program.answer('getdescriptors', { receive: [receive], internal: [] });
    await expect(create(true)).rejects.toThrow(reason);
  }
  device.program.answer('getdescriptors', { receive: 'wpkh()' });
  await expect(create(true)).rejects.toThrow('Unexpected result');
  expect(manager.files.names()).toEqual([]);
  manager.close();
});
