import { scrypt } from 'node:crypto';
import { sha256 } from '../../crypto/hash-functions.ts';
import type { NetworkName } from '../../params/network-params.ts';
import { walletFail } from '../wallet-error.ts';
import { FairSlots } from './fair-slots.ts';

/** Scrypt parameters N, r and p (RFC 7914). */
export interface ScryptCost {
  readonly cost: number;
  readonly blockSize: number;
  readonly parallel: number;
  /**
   * Whether the passphrase is hashed with SHA-256 first. PBKDF2, inside scrypt, pads short keys with zero bytes, so that
   * without this hash a passphrase with further zero bytes opens the wallet too.
   */
  readonly hashed?: true;
}

const PASSPHRASE_KEY_SIZE = 32;
const MEBIBYTE = 1024 * 1024;
/** 256 MiB of memory and most of a second. */
const COST: ScryptCost = { cost: 262_144, blockSize: 8, parallel: 1, hashed: true };
/** For test networks, where wallets are created by the hundred: 16 MiB. */
const REGTEST_COST: ScryptCost = { cost: 16_384, blockSize: 8, parallel: 1, hashed: true };
/** Upper bound for the cost in a file: four times the memory of a new wallet and sixteen times the work. */
const MAX_MEMORY_MIB = 1024;
const MAX_WORK_MIB = 4096;

/** Computations at the same time; each takes the memory of its cost. */
const PLACES = 2;
/** Waiting attempts of one caller, in all wallets. */
const MAX_WAITING = 8;
const places = new FairSlots(PLACES, MAX_WAITING);

/** Scrypt cost of a new passphrase on a network. */
export function scryptCostOf(network: NetworkName): ScryptCost {
  return network === 'regtest' ? REGTEST_COST : COST;
}

/**
 * Throws WalletError where the cost in a file is invalid or above the bound: a manipulated file could use up memory and
 * time.
 */
export function checkScryptCost({ cost, blockSize, parallel }: ScryptCost): void {
  const isCost = [cost, blockSize, parallel].every((value) => Number.isSafeInteger(value) && value > 0);
  if (!isCost || cost < 2 || !Number.isInteger(Math.log2(cost)))
    walletFail('wallet', 'Error: the wallet file asks for a passphrase cost that scrypt does not have; it is damaged.');
  const memory = (128 * cost * blockSize) / MEBIBYTE;
  if (memory > MAX_MEMORY_MIB || memory * parallel > MAX_WORK_MIB)
    walletFail(
      'wallet',
      `Error: the wallet file asks for ${Math.ceil(memory)} MiB of memory, ${parallel} times over, to try a passphrase; at most ${MAX_MEMORY_MIB} MiB, and ${MAX_WORK_MIB} MiB with all repetitions, are allowed.`,
    );
}

/**
 * Derives the key of a passphrase on a thread of the runtime, two at a time in the process; callers that wait are
 * served in turn. Throws WalletError where too many attempts of the caller wait, or the cost is not allowed.
 */
export async function passphraseKey(
  passphrase: Uint8Array,
  salt: Uint8Array,
  scryptCost: ScryptCost,
  caller: string,
): Promise<Uint8Array> {
  checkScryptCost(scryptCost);
  const key = await places.run(caller, () => computed(passphrase, salt, scryptCost));
  return key ?? walletFail('wallet', tooManyAttemptsMessage());
}

export function tooManyAttemptsMessage(): string {
  return 'Error: too many passphrases of this caller wait to be tried; try again when they are answered.';
}

function computed(
  passphrase: Uint8Array,
  salt: Uint8Array,
  { cost, blockSize, parallel, hashed }: ScryptCost,
): Promise<Uint8Array> {
  const secret = hashed ? sha256(passphrase) : passphrase;
  const options = { N: cost, r: blockSize, p: parallel, maxmem: 128 * cost * blockSize + 32 * MEBIBYTE };
  return new Promise((resolve, reject) => {
    scrypt(secret, salt, PASSPHRASE_KEY_SIZE, options, (error, key) => {
      if (hashed) secret.fill(0);
      if (error) reject(error);
      else resolve(new Uint8Array(key.buffer, key.byteOffset, key.byteLength));
    });
  });
}
