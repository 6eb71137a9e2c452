import { hash160 } from '../../src/crypto/hash-functions.ts';
import { regtest } from '../../src/params/regtest.ts';
import { addressOf } from '../../src/script/address.ts';
import { p2wpkh } from '../../src/script/templates.ts';
import { ExtendedPrivateKey, formatExtendedPublicKey } from '../../src/wallet/keys/extended-key.ts';
import { addTestKey, testSecret } from './tx-builder.ts';

/** The account of an HD wallet, whose scripts are derived by the private keys. `spend` signs for them. */
export class HdAccount {
  readonly #account: ExtendedPrivateKey;

  /** The same keys in every run. */
  constructor(name: string) {
    this.#account = ExtendedPrivateKey.fromSeed(testSecret(name));
  }

  get publicText(): string {
    return formatExtendedPublicKey(this.#account.neuter(), regtest.bip32);
  }

  get privateText(): string {
    return this.#account.revealText(regtest.bip32);
  }

  /** Receiving and change scripts. */
  get descriptor(): string {
    return `wpkh(${this.publicText}/<0;1>/*)`;
  }

  scriptAt(branch: number, index: number): Uint8Array {
    const { key } = this.#account.derivePath([branch, index])!;
    return p2wpkh(hash160(addTestKey(key.reveal())));
  }

  addressAt(branch: number, index: number): string {
    return addressOf(this.scriptAt(branch, index), regtest.address)!;
  }
}
